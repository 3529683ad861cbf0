import { Client, credentials, type ClientDuplexStream, type Metadata, type MethodDefinition, type ServiceError } from '@grpc/grpc-js';
import { contract } from '../../shared/grpc/contract.js';
import { clientOptions } from '../../shared/grpc/options.js';
import { systemClock } from '../../shared/time/clock.js';

type AnyMethod = MethodDefinition<object, object>;

/** Every RPC of every service of the contract, by `Service/Method`. */
export const rpcs: ReadonlyMap<string, AnyMethod> = new Map(
  Object.entries(contract).flatMap(([name, value]) =>
    'service' in value ? Object.entries(value.service as unknown as Record<string, AnyMethod>).map(([method, definition]) => [`${name}/${method}`, definition] as const) : []),
);

/** What became of a call: its answer, or its status with the stable reason. */
export type Told<Res> = { code: 0; answer: Res } | { code: number; reason: string | undefined; details: string };

const same = (bytes: Buffer): Buffer => bytes;

/** Calls any RPC of one address, with messages or with raw bytes. */
export class Caller {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), { ...clientOptions, 'grpc.use_local_subchannel_pool': 1, 'grpc.max_send_message_length': -1 });
  }

  close(): void {
    this.#client.close();
  }

  /** The answer of a unary call; rejects with its ServiceError. Deadline 10 s. */
  async call<Res>(rpc: string, request: object): Promise<Res> {
    const method = methodOf(rpc);
    return this.#unary<Res>(rpc, method.requestSerialize(request), method.responseDeserialize as (bytes: Buffer) => Res);
  }

  /** What a unary call with these bytes leads to; never rejects. */
  async tell<Res = object>(rpc: string, request: object | Buffer, metadata?: Metadata): Promise<Told<Res>> {
    const method = methodOf(rpc);
    const bytes = Buffer.isBuffer(request) ? request : method.requestSerialize(request);
    try {
      return { code: 0, answer: await this.#unary<Res>(rpc, bytes, method.responseDeserialize as (bytes: Buffer) => Res, metadata) };
    } catch (error) {
      return toldOf(error as ServiceError);
    }
  }

  /** Opens a stream of both directions; frames go out as objects or raw bytes. */
  open<Res>(rpc: string): ClientDuplexStream<object | Buffer, Res> {
    const method = methodOf(rpc);
    const serialize = (frame: object | Buffer): Buffer => (Buffer.isBuffer(frame) ? frame : method.requestSerialize(frame));
    return this.#client.makeBidiStreamRequest(method.path, serialize, method.responseDeserialize as (bytes: Buffer) => Res);
  }

  /** A call that the server answers with a stream: its first message, or its status. */
  firstOf(rpc: string, bytes: Buffer): Promise<Told<object>> {
    const method = methodOf(rpc);
    const call = this.#client.makeServerStreamRequest(method.path, same, method.responseDeserialize, bytes, { deadline: systemClock.now() + 10_000 });
    return new Promise((resolve) => {
      call.on('data', (answer: object) => {
        resolve({ code: 0, answer });
        call.cancel();
      });
      call.on('error', (error: ServiceError) => resolve(toldOf(error)));
    });
  }

  #unary<Res>(rpc: string, bytes: Buffer, deserialize: (bytes: Buffer) => Res, metadata?: Metadata): Promise<Res> {
    const options = { deadline: systemClock.now() + 10_000 };
    return new Promise((resolve, reject) => {
      const answer = (error: ServiceError | null, response?: Res): void => (error === null ? resolve(response as Res) : reject(error));
      if (metadata === undefined) this.#client.makeUnaryRequest(methodOf(rpc).path, same, deserialize, bytes, options, answer);
      else this.#client.makeUnaryRequest(methodOf(rpc).path, same, deserialize, bytes, metadata, options, answer);
    });
  }
}

/** Status and reason of a failed call. */
export function toldOf(error: ServiceError): { code: number; reason: string | undefined; details: string } {
  return { code: error.code, reason: error.metadata?.get('lts-reason')[0]?.toString(), details: error.details };
}

function methodOf(rpc: string): AnyMethod {
  const method = rpcs.get(rpc);
  if (method === undefined) throw new Error(`the contract has no ${rpc}`);
  return method;
}
