import { join } from 'node:path';
import protobuf from 'protobufjs';
import { packageRoot } from '../../../shared/package-root.js';

const files = ['job_service', 'worker_service', 'feedback_service', 'cluster_service', 'admin_service', 'fail_store_service', 'schedule_service'];

/** The contract with texts as bytes and enums as numbers, so that any value can be put on the wire. */
const root = loadLoose();

function loadLoose(): protobuf.Root {
  const loose = new protobuf.Root();
  loose.resolvePath = (_origin, target) => join(packageRoot, 'proto', target);
  loose.loadSync(files.map((file) => `lts/v1/${file}.proto`), { keepCase: true });
  for (const type of typesIn(loose)) {
    for (const field of type.fieldsArray) {
      if (field.type === 'string') field.type = 'bytes';
      else if (type.lookup(field.type, [protobuf.Enum]) instanceof protobuf.Enum) field.type = 'int32';
    }
  }
  loose.resolveAll();
  return loose;
}

function typesIn(namespace: protobuf.NamespaceBase): protobuf.Type[] {
  return namespace.nestedArray.flatMap((nested) =>
    nested instanceof protobuf.Type ? [nested] : nested instanceof protobuf.Namespace ? typesIn(nested) : []);
}

/** The original kinds of the fields, which the loose contract has lost. */
const strict = new protobuf.Root();
strict.resolvePath = (_origin, target) => join(packageRoot, 'proto', target);
strict.loadSync(files.map((file) => `lts/v1/${file}.proto`), { keepCase: true });
strict.resolveAll();

/** The frames that a stream of these messages may carry, from the contract. */
export function framesOf(type: string): string[] {
  return [...(strict.lookupType(`lts.v1.${type}`).oneofs.frame?.oneof ?? [])];
}

/** One request with one value in it that nobody should send. */
export interface Hostile {
  /** The field, as a path, and what is in it. */
  name: string;
  bytes: Buffer;
}

type Values = Record<string, unknown>;

const longText = 'x'.repeat(100_000);

const texts: [string, Buffer][] = [
  ['empty', Buffer.alloc(0)],
  ['NUL', Buffer.from('a\0b')],
  ['invalid UTF-8', Buffer.from([0x61, 0xff, 0xfe, 0x80])],
  ['half a surrogate pair', Buffer.from([0xed, 0xa0, 0x80])],
  ['a path', Buffer.from('../../../../etc/passwd')],
  ['__proto__', Buffer.from('__proto__')],
  ['constructor', Buffer.from('constructor')],
  ['SQL', Buffer.from("x'; DROP TABLE instance; --")],
  ['200 emoji', Buffer.from('😀'.repeat(200))],
  ['control characters', Buffer.from('a\r\nlts-reason: x\x1b[2J\x7f')],
  ['100,000 characters', Buffer.from(longText)],
];

const numbers: Record<string, [string, number | string][]> = {
  int32: [['-1', -1], ['the least', -(2 ** 31)], ['the most', 2 ** 31 - 1]],
  int64: [['-1', -1], ['the least', '-9223372036854775808'], ['the most', '9223372036854775807'], ['beyond exact numbers', '9007199254740993']],
  enum: [['an unknown number', 99], ['a negative number', -1]],
  double: [['NaN', Number.NaN], ['infinity', Number.POSITIVE_INFINITY], ['-1', -1]],
};

/** The bytes of a message; values may be whatever fits the wire type. */
export function encodeLoose(type: string, value: object): Buffer {
  const message = root.lookupType(`lts.v1.${type}`);
  return Buffer.from(message.encode(message.fromObject(toBytes(value) as Values)).finish());
}

/** Every field of a message in turn, or those of one field, with every hostile value, on the ground of a valid message. */
export function hostileMessages(type: string, valid: object, within = ''): Hostile[] {
  const variants = variantsOf(strict.lookupType(`lts.v1.${type}`), valid as Values, '').filter(({ name }) => name.startsWith(within));
  return variants.map(({ name, value }) => ({ name, bytes: encodeLoose(type, value) }));
}

interface Variant {
  name: string;
  value: Values;
}

function variantsOf(type: protobuf.Type, valid: Values, path: string): Variant[] {
  return type.fieldsArray.flatMap((field) => {
    const name = `${path}${field.name}`;
    const put = (what: string, value: unknown): Variant => ({ name: `${name} is ${what}`, value: { ...valid, [field.name]: value } });
    if (field instanceof protobuf.MapField) return mapVariants(put);
    const { resolvedType } = field;
    if (resolvedType instanceof protobuf.Type) {
      const inner = (field.repeated ? (valid[field.name] as Values[] | undefined)?.[0] : (valid[field.name] as Values | undefined)) ?? {};
      const nested = variantsOf(resolvedType, inner, `${name}.`);
      return [{ name: `${name} is empty`, value: {} }, ...nested].map((each) => ({ name: each.name, value: { ...valid, [field.name]: field.repeated ? [each.value] : each.value } }));
    }
    const single = scalarsOf(field, resolvedType instanceof protobuf.Enum ? 'enum' : field.type);
    if (!field.repeated) return single.map(([what, value]) => put(what, value));
    const many = single[0] === undefined ? [] : [put('50,000 entries', Array.from({ length: 50_000 }, () => (field.type === 'string' ? Buffer.from('x') : 1)))];
    return [...single.map(([what, value]) => put(what, [value])), ...many];
  });
}

function scalarsOf(field: protobuf.Field, kind: string): [string, unknown][] {
  if (kind === 'string') return texts;
  if (kind === 'bytes') return [['1 MiB and a byte', Buffer.alloc(1024 * 1024 + 1)]];
  if (kind === 'bool') return [['true', true]];
  const found = numbers[kind];
  if (found === undefined) throw new Error(`no hostile values for ${field.fullName} of type ${kind}`);
  return found;
}

function mapVariants(put: (what: string, value: unknown) => Variant): Variant[] {
  const named = (key: string, value: Buffer): object => Object.fromEntries([[key, value]]);
  return [
    put('a map with __proto__', named('__proto__', Buffer.from('polluted'))),
    put('a map with constructor', named('constructor', Buffer.from('polluted'))),
    put('a map with an empty key', named('', Buffer.from('x'))),
    put('a map with NUL in a value', named('key', Buffer.from('a\0b'))),
    put('a map with invalid UTF-8', named('key', Buffer.from([0xff]))),
    put('a map with a key of 129 bytes', named('k'.repeat(129), Buffer.from('x'))),
    put('a map with a value of 8,193 bytes', named('key', Buffer.alloc(8_193, 'x'))),
    put('a map with 65 entries', Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`k${index}`, Buffer.from('x')]))),
  ];
}

/** Texts become their bytes, as the loose contract has no texts. */
function toBytes(value: unknown): unknown {
  if (typeof value === 'string') return /^-?\d{16,}$/.test(value) ? value : Buffer.from(value);
  if (Array.isArray(value)) return value.map(toBytes);
  if (Buffer.isBuffer(value) || typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, toBytes(each)]));
}

/** Bytes that are no protobuf message, whatever the type. */
export const unreadable: readonly Hostile[] = [
  { name: 'a tag without an end', bytes: Buffer.alloc(12, 0xff) },
  { name: 'an end of a group that was not begun', bytes: Buffer.from([0xa4, 0x06]) },
  { name: 'a wire type that does not exist', bytes: Buffer.from([0xa7, 0x06, 0x01]) },
  { name: 'an unknown field that is longer than the message', bytes: Buffer.from([0xa2, 0x06, 0x7f, 0x61]) },
  { name: 'an unknown field of 4 GiB', bytes: Buffer.from([0xa2, 0x06, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x61]) },
  { name: '100,000 groups in one another', bytes: Buffer.alloc(100_000, Buffer.from([0xa3, 0x06])) },
];

/** A message cut off at every place, and with every field in the encoding of another type. */
export function damagedMessages(type: string, valid: object): Hostile[] {
  const whole = encodeLoose(type, valid);
  const cut = Array.from({ length: Math.min(whole.length, 200) }, (_, length) => ({ name: `cut off after ${length} bytes`, bytes: whole.subarray(0, length) }));
  const wrong = root.lookupType(`lts.v1.${type}`).fieldsArray.flatMap((field) => [
    { name: `${field.name} as a varint`, bytes: Buffer.concat([whole, tagged(field.id, 0), Buffer.from([0x96, 0x01])]) },
    { name: `${field.name} as 8 bytes`, bytes: Buffer.concat([whole, tagged(field.id, 1), Buffer.alloc(8, 0x41)]) },
    { name: `${field.name} as text`, bytes: Buffer.concat([whole, tagged(field.id, 2), Buffer.from([3, 0x61, 0x62, 0x63])]) },
    { name: `${field.name} as 4 bytes`, bytes: Buffer.concat([whole, tagged(field.id, 5), Buffer.alloc(4, 0x41)]) },
  ]);
  return [...cut, ...wrong];
}

function tagged(id: number, wireType: number): Buffer {
  const tag = (id << 3) | wireType;
  return tag < 128 ? Buffer.from([tag]) : Buffer.from([(tag & 127) | 128, tag >> 7]);
}
