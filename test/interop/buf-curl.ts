import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packageRoot } from '../../shared/package-root.js';

const run = promisify(execFile);
const buf = join(packageRoot, 'node_modules/.bin/buf');

/** What a run of `buf curl` gave. */
export interface BufAnswer {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs `buf curl` over plain HTTP/2. It knows no schema but what the server tells through reflection. */
export async function bufCurl(...args: string[]): Promise<BufAnswer> {
  try {
    const { stdout, stderr } = await run(buf, ['curl', '--protocol', 'grpc', ...args], { timeout: 30_000, cwd: '/' });
    return { code: 0, stdout, stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as BufAnswer;
    return { code, stdout, stderr };
  }
}

/** One call by `buf curl`; its answer as JSON. */
export async function bufCall<T>(address: string, method: string, request: object): Promise<T> {
  const { code, stdout, stderr } = await bufCurl('-d', JSON.stringify(request), `http://${address}/${method}`);
  if (code !== 0) throw new Error(`buf curl ${method} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
