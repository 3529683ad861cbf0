import type { ServerDuplexStream, UntypedHandleCall } from '@grpc/grpc-js';
import { LtsError } from '../../../shared/errors/lts-error.js';
import type { FeedbackHello__Output } from '../../../shared/grpc/generated/lts/v1/FeedbackHello.js';
import type { JobResult } from '../../../shared/grpc/generated/lts/v1/JobResult.js';
import type { WatchFeedbackRequest__Output } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackRequest.js';
import type { WatchFeedbackResponse } from '../../../shared/grpc/generated/lts/v1/WatchFeedbackResponse.js';
import { failStream, type Handlers } from '../../../shared/grpc/handlers.js';
import { helloWithinMs } from '../../../shared/grpc/options.js';
import { StreamWriter } from '../../../shared/grpc/stream-writer.js';
import { groupForm } from '../../../shared/job/check-job.js';
import type { Logger } from '../../../shared/log/logger.js';
import type { Clock } from '../../../shared/time/clock.js';
import type { ClientMasters } from '../feedback/client-masters.js';
import type { FeedbackDelivery } from '../feedback/feedback-delivery.js';
import type { Receiver } from '../feedback/receiver.js';
import type { Ownership } from '../lead/ownership.js';
import type { FeedbackRow } from '../queue/queue-store.js';

/** What receivers lead to. */
export interface FeedbackParts {
  delivery: FeedbackDelivery;
  masters: ClientMasters;
  ownership: Ownership;
  clock: Clock;
  log: Logger;
}

type FeedbackCall = ServerDuplexStream<WatchFeedbackRequest__Output, WatchFeedbackResponse>;

const defaultInFlight = 100;
const mostInFlight = 10_000;

/** FeedbackService: one receiver per stream. */
export function feedbackService(handlers: Handlers, parts: FeedbackParts): Record<string, UntypedHandleCall> {
  return {
    WatchFeedback: handlers.duplex<WatchFeedbackRequest__Output, WatchFeedbackResponse>((call: FeedbackCall) => openReceiver(call, parts)) as unknown as UntypedHandleCall,
  };
}

function openReceiver(call: FeedbackCall, { delivery, masters, ownership, clock, log }: FeedbackParts): void {
  let receiver: Receiver | undefined;
  let ended = false;
  const writer = new StreamWriter<WatchFeedbackResponse>(call, { onStall: (error) => end(error), clock });
  writer.onDrain(() => receiver && delivery.drained(receiver));
  const helloTimer = clock.after(helloWithinMs, () => end(new LtsError('BAD_FRAME', `no hello came within ${helloWithinMs} ms`)), { unref: true });
  const close = (): void => {
    helloTimer.cancel();
    writer.close();
    if (receiver !== undefined) {
      delivery.remove(receiver);
      masters.lost(receiver.submitNodeGroup, receiver);
    }
    receiver = undefined;
  };
  const end = (error?: LtsError): void => {
    if (ended) return;
    ended = true;
    close();
    // The end tells the receiver that its acks are stored.
    if (error === undefined) delivery.whenSettled(() => call.end());
    else failStream(call as never, error, log);
  };
  call.on('data', (frame: WatchFeedbackRequest__Output) => {
    if (ended) return;
    try {
      if (frame.frame === 'hello' && frame.hello && receiver === undefined) {
        ownership.requireAccepting();
        receiver = toReceiver(frame.hello, call.getPeer(), writer, end, clock);
        helloTimer.cancel();
        writer.write({ results: [] });
        delivery.add(receiver);
        masters.joined(receiver.submitNodeGroup, receiver, frame.hello.master_token);
      } else if (frame.frame === 'ack' && frame.ack && receiver !== undefined) {
        const failures = frame.ack.failures.map(({ feedback_id, message }) => ({ id: feedback_id, message }));
        delivery.settle(receiver, frame.ack.feedback_ids, failures);
      } else if (frame.frame === 'alive' && frame.alive && receiver !== undefined) {
        receiver.clientTime = frame.alive.monotonic;
        masters.claims(receiver.submitNodeGroup, receiver, frame.alive.master_token);
      } else throw new LtsError('BAD_FRAME', `frame ${frame.frame ?? '(empty)'} does not come here; send hello once, then ack`);
    } catch (error) {
      end(error as LtsError);
    }
  });
  call.on('end', () => end());
  call.on('cancelled', close);
  call.on('error', close);
  call.on('close', close);
}

function toReceiver(hello: FeedbackHello__Output, address: string, writer: StreamWriter<WatchFeedbackResponse>, end: (error: LtsError) => void, clock: Clock): Receiver {
  const { submit_node_group, client_id, max_in_flight } = hello;
  if (!groupForm.test(submit_node_group)) throw new LtsError('BAD_FRAME', `hello.submit_node_group is ${JSON.stringify(submit_node_group.slice(0, 80))}; use 1 to 64 of A-Z a-z 0-9 . _ : -`);
  if (max_in_flight < 0 || max_in_flight > mostInFlight) throw new LtsError('BAD_FRAME', `hello.max_in_flight is ${max_in_flight}; use 1 to ${mostInFlight}, or 0 for ${defaultInFlight}`);
  return {
    submitNodeGroup: submit_node_group,
    clientId: client_id.slice(0, 128),
    address,
    since: clock.now(),
    maxInFlight: max_in_flight === 0 ? defaultInFlight : max_in_flight,
    clientTime: hello.monotonic,
    inFlight: new Set(),
    ready: () => writer.ready,
    master: (master) => {
      if (writer.ready) writer.write({ results: [], master });
    },
    send: (rows) => writer.write({ results: rows.map(toJobResult) }),
    end,
  };
}

/** A stored result in the words of the contract. */
export function toJobResult(row: FeedbackRow): JobResult {
  return {
    feedback_id: row.id,
    instance_id: row.id,
    task_id: row.taskId,
    node_group: row.nodeGroup,
    submit_node_group: row.submitNodeGroup,
    state: `INSTANCE_STATE_${row.state}`,
    outcome: row.outcome === undefined ? 'ATTEMPT_OUTCOME_UNSPECIFIED' : `ATTEMPT_OUTCOME_${row.outcome}`,
    message: row.message,
    attempt: row.attempt,
    ended_at: row.endedAt,
    deliveries: row.deliveries,
    scheduled_time: row.scheduledAt,
  };
}
