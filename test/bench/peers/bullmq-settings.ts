/** How BullMQ is run. */
export interface BullmqSettings {
  host: string;
  port: number;
  /** Jobs that one worker runs at the same time. */
  concurrency: number;
}

export const queueName = 'bench';

/** What a job carries. */
export interface BullmqPayload {
  number: number;
  data: string;
}
