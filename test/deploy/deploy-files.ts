import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser } from 'dockerfile-ast';
import { parse, parseAllDocuments } from 'yaml';
import { packageRoot } from '../../shared/package-root.js';

/** What the tests read of one service of compose.yaml. */
export interface ComposeService {
  image: string;
  command?: string[];
  environment: Record<string, string>;
  healthcheck: { test: string[]; interval: string; timeout: string; retries: number };
  depends_on?: Record<string, { condition: string }>;
  ports?: string[];
  volumes?: string[];
  networks: string[];
  restart: string;
  stop_grace_period: string;
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  networks: Record<string, unknown>;
  volumes: Record<string, unknown>;
}

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
}

/** The text of a file below deploy/. */
export function deployText(name: string): string {
  return readFileSync(join(packageRoot, 'deploy', name), 'utf8');
}

/** compose.yaml with variables put in as Compose does: `${NAME:?message}` throws when it is not given. */
export function readCompose(variables: Record<string, string>): ComposeFile {
  const text = deployText('compose.yaml')
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n');
  const filled = text.replaceAll(/\$\{(\w+)(?::\?([^}]*))?\}/g, (_whole, name: string, message?: string) => {
    const value = variables[name];
    if (value === undefined || value === '') throw new Error(`required variable ${name} is missing a value: ${message ?? ''}`);
    return value;
  });
  return parse(filled, { merge: true }) as ComposeFile;
}

/** The services of compose.yaml that run our image, by name. */
export function ltsServices(file: ComposeFile): [string, ComposeService][] {
  return Object.entries(file.services).filter(([, { image }]) => image.startsWith('light-task-scheduler'));
}

/** All Kubernetes objects, with the file of each. */
export function readManifests(): { file: string; manifest: Manifest }[] {
  return readdirSync(join(packageRoot, 'deploy/kubernetes')).flatMap((file) =>
    parseAllDocuments(deployText(`kubernetes/${file}`)).map((document) => {
      if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join('; ')}`);
      return { file, manifest: document.toJS() as Manifest };
    }),
  );
}

/** What the image says of how it is run. */
export interface Image {
  entrypoint: string[];
  environment: Record<string, string>;
  healthcheck: string[];
  user: string;
  stopSignal: string;
  volumes: string[];
  /** Base images, with the value of each ARG put in. */
  bases: string[];
}

/** Reads the last stage of the Dockerfile. */
export function readImage(): Image {
  const dockerfile = DockerfileParser.parse(deployText('Dockerfile'));
  const all = dockerfile.getInstructions();
  const froms = dockerfile.getFROMs();
  const args = new Map(dockerfile.getARGs().map((arg) => [arg.getProperty()?.getName() ?? '', arg.getProperty()?.getValue() ?? '']));
  const lastFrom = froms.at(-1)?.getRange().start.line ?? 0;
  const ofLastStage = (keyword: string): string[] => all.filter((one) => one.getKeyword() === keyword && one.getRange().start.line > lastFrom).map((one) => one.getRawArgumentsContent() ?? '');
  const last = (keyword: string): string => ofLastStage(keyword).at(-1) ?? '';
  const pairs = ofLastStage('ENV').flatMap((text) => text.split(/\s+/).map((pair) => pair.split('=') as [string, string]));
  return {
    entrypoint: JSON.parse(last('ENTRYPOINT')) as string[],
    environment: Object.fromEntries(pairs),
    healthcheck: JSON.parse(last('HEALTHCHECK').replace(/^.*?CMD\s+/, '')) as string[],
    user: last('USER'),
    stopSignal: last('STOPSIGNAL'),
    volumes: ofLastStage('VOLUME'),
    bases: froms.map((from) => (from.getImage() ?? '').replaceAll(/\$\{(\w+)\}/g, (_whole, name: string) => args.get(name) ?? '')),
  };
}

/** Seconds of a duration such as 30s. */
export function secondsOf(text: string): number {
  const seconds = /^(\d+)s$/.exec(text)?.[1];
  if (seconds === undefined) throw new Error(`${text} is not a number of seconds`);
  return Number(seconds);
}
