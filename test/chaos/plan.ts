import { Random } from './random.js';

/*
 * Which faults a run suffers, and when. A pure function of the seed and of what there is to break: the same seed gives
 * the same plan, whatever the machine does. What a fault means is in `faults.ts`.
 */

/** What can be done to a part of the cluster. */
export type FaultKind =
  /** SIGKILL; started again at the end. */
  | 'kill'
  /** SIGSTOP; SIGCONT at the end. */
  | 'pause'
  /** Two of three ZooKeepers are killed, and started again at the end. */
  | 'quorum-loss'
  /** Immediate shutdown of PostgreSQL (SIGQUIT); started again at the end. */
  | 'crash'
  /** One process of PostgreSQL that serves a tracker is killed: PostgreSQL ends all others and recovers. */
  | 'kill-backend'
  /** One process of PostgreSQL that serves a tracker stands still. */
  | 'pause-backend'
  /** Connections are reset and new ones refused. */
  | 'cut'
  /** What goes one way or both is held back, and arrives at the end. */
  | 'hold'
  /** What goes one way is lost; the connections are reset at the end. */
  | 'one-way'
  /** Every piece comes late. */
  | 'slow'
  /** The caller's ends are reset; the called one is not told before the end. */
  | 'half-open'
  /** The wall clock is wrong by an hour. */
  | 'clock'
  /** The disk of its FailStore is full. */
  | 'disk-full';

/** One fault. Times are milliseconds since the faults began. */
export interface Fault {
  n: number;
  atMs: number;
  forMs: number;
  kind: FaultKind;
  /** A process, or a link `caller→called`. */
  target: string;
  /** What the kind needs: direction of a one-way cut or hold, delay, offset of a clock, which of several. */
  detail: number;
}

/** What there is to break. */
export interface Targets {
  trackers: readonly string[];
  workers: readonly string[];
  clients: readonly string[];
  zookeepers: readonly string[];
  /** Absent: there is no PostgreSQL. */
  postgres?: string;
  /** Links `caller→called`, each of which can be broken alone. */
  links: readonly string[];
  /** Processes whose wall clock can be set. */
  clocks: readonly string[];
  /** Processes with a FailStore on a disk that can be filled. */
  disks: readonly string[];
}

export interface PlanOptions {
  seed: number;
  /** All faults are healed by then. */
  durationMs: number;
  /** Session time of the trackers in ZooKeeper: the unit of the longer faults. */
  sessionMs: number;
  targets: Targets;
}

/** Faults begin so many milliseconds apart. */
const apartMs = [1_500, 5_000] as const;
/** A part has so long to recover before the next fault meets it. */
const respiteMs = 3_000;
/** So many faults at once at most. */
const mostAtOnce = 3;
const hourMs = 3_600_000;

interface Choice {
  weight: number;
  kind: FaultKind;
  targets: readonly string[];
  forMs: (random: Random) => number;
  detail?: (random: Random) => number;
}

/** The faults of a run, in order of their beginning. */
export function planFaults({ seed, durationMs, sessionMs, targets }: PlanOptions): Fault[] {
  const random = new Random(seed);
  const choices = choicesFor(targets, sessionMs).filter((choice) => choice.targets.length > 0);
  const faults: Fault[] = [];
  const freeAt = new Map<string, number>();
  for (let atMs = random.whole(...apartMs); atMs < durationMs; atMs += random.whole(...apartMs)) {
    const choice = random.weighted(choices);
    const target = random.pick(choice.targets);
    const fault: Fault = { n: faults.length + 1, atMs, forMs: choice.forMs(random), kind: choice.kind, target, detail: choice.detail?.(random) ?? 0 };
    const touched = touches(fault, targets);
    const busy = faults.filter((other) => other.atMs + other.forMs > atMs).length >= mostAtOnce || touched.some((name) => (freeAt.get(name) ?? 0) > atMs);
    if (busy || atMs + fault.forMs > durationMs) continue;
    for (const name of touched) freeAt.set(name, atMs + fault.forMs + respiteMs);
    faults.push(fault);
  }
  return faults;
}

function choicesFor(targets: Targets, sessionMs: number): Choice[] {
  const { trackers, workers, clients, zookeepers, links, clocks, disks } = targets;
  const postgres = targets.postgres === undefined ? [] : [targets.postgres];
  const away = (random: Random): number => random.whole(200, 2 * sessionMs);
  const sessions = (random: Random): number => random.pick([0.5, 1.5, 5]) * sessionMs;
  const direction = (random: Random): number => random.whole(0, 1);
  return [
    { weight: 8, kind: 'kill', targets: trackers, forMs: away },
    { weight: 5, kind: 'kill', targets: [...workers, ...clients], forMs: away },
    { weight: 3, kind: 'kill', targets: zookeepers, forMs: away },
    { weight: 8, kind: 'pause', targets: trackers, forMs: sessions },
    { weight: 5, kind: 'pause', targets: [...workers, ...clients], forMs: sessions },
    { weight: 3, kind: 'pause', targets: zookeepers, forMs: sessions },
    { weight: 3, kind: 'quorum-loss', targets: zookeepers, forMs: sessions },
    { weight: 3, kind: 'crash', targets: postgres, forMs: (random) => random.whole(200, sessionMs) },
    { weight: 2, kind: 'kill', targets: postgres, forMs: (random) => random.whole(200, sessionMs) },
    { weight: 2, kind: 'pause', targets: postgres, forMs: sessions },
    { weight: 3, kind: 'kill-backend', targets: postgres, forMs: () => 500, detail: (random) => random.whole(0, 99) },
    { weight: 4, kind: 'pause-backend', targets: postgres, forMs: sessions, detail: (random) => random.whole(0, 99) },
    { weight: 7, kind: 'cut', targets: links, forMs: sessions },
    { weight: 7, kind: 'hold', targets: links, forMs: sessions, detail: (random) => random.whole(0, 2) },
    { weight: 9, kind: 'one-way', targets: links, forMs: sessions, detail: direction },
    { weight: 4, kind: 'slow', targets: links, forMs: sessions, detail: (random) => random.pick([20, 100, 400]) },
    { weight: 4, kind: 'half-open', targets: links, forMs: sessions },
    { weight: 4, kind: 'clock', targets: clocks, forMs: sessions, detail: (random) => random.pick([-hourMs, hourMs]) },
    { weight: 3, kind: 'disk-full', targets: disks, forMs: sessions },
  ];
}

/** Parts that must be well when the fault begins. */
function touches({ kind, target }: Fault, { zookeepers }: Targets): readonly string[] {
  return kind === 'quorum-loss' ? zookeepers : [target];
}
