"""A TaskTracker in Python. Usage: python3 worker.py HOST:PORT NODE_GROUP. SIGTERM: finishes what runs, then leaves."""
import os, queue, signal, sys, threading, time, uuid

import grpc
from lts.v1 import instance_pb2 as instances
from lts.v1 import worker_service_pb2 as work
from lts.v1.worker_service_pb2_grpc import WorkerServiceStub

SLOTS = 4
KEEP = (work.REFUSAL_REASON_NOT_OWNER, work.REFUSAL_REASON_LOADING)


def run(job, stop):
    """The work itself. Returns the message of a success; what it raises is an EXCEPTION, which may be retried."""
    if job.type == 'wait':
        stop.wait(float(job.payload or 60))  # seconds
    return f'{job.task_id} got {job.payload.decode()}'


class Worker:
    def __init__(self, group):
        random = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), 'big')
        self.incarnation = str(uuid.UUID(int=random & ~(0xF << 76 | 3 << 62) | 7 << 76 | 2 << 62))  # a UUIDv7 per process
        self.group, self.leaving, self.lock = group, False, threading.Lock()
        self.master = work.WorkResponse().master
        self.running, self.results = {}, {}  # by (instance, attempt); a result is kept until it is acked

    def session(self, stub):
        """One stream. After a lost one the same incarnation comes back and still has its attempts."""
        with self.lock:
            self.frames, self.flying, self.sequence = queue.SimpleQueue(), {}, 0
            self.granted = SLOTS - len(self.running)
            self.send(hello=work.Hello(node_id='python-1', incarnation=self.incarnation, node_group=self.group, work_threads=SLOTS))
        for frame in stub.Work(iter(self.frames.get, None)):
            kind = frame.WhichOneof('frame')
            if kind == 'owns':  # The tracker asks what this worker has; nothing comes before the answer.
                with self.lock:
                    held = [work.HeldAttempt(instance_id=i, attempt=a, finished=(i, a) in self.results) for i, a in self.running | self.results]
                self.send(inventory=work.Inventory(held=held, end=True))
                self.report()
                self.send(slots=work.Slots(granted=self.granted))
            elif kind == 'tasks':
                for task in frame.tasks.tasks:
                    stop = self.running[task.instance_id, task.attempt] = threading.Event()
                    threading.Thread(target=self.attempt, args=(task, stop), daemon=True).start()
            elif kind == 'cancels':
                for each in frame.cancels.attempts:
                    if stop := self.running.get((each.instance_id, each.attempt)):
                        stop.set()
            elif kind == 'results_ack':
                with self.lock:
                    key = self.flying.pop(frame.results_ack.sequence)
                    if not any(refusal.reason in KEEP for refusal in frame.results_ack.refusals):
                        del self.results[key]
            elif kind == 'master':  # Said again and again; without that this worker is no master after frame.master.lease milliseconds.
                if frame.master != self.master:
                    self.master = frame.master
                    print('master', 'self' if self.master.self else self.master.node_id, self.master.token, flush=True)
            elif kind == 'ping':
                self.send(pong=work.Pong(nonce=frame.ping.nonce, running=len(self.running), clock=int(time.time() * 1000)))
                self.report()
            if self.leaving and not self.running and not self.results:
                self.send(goodbye=work.Goodbye())
                self.frames.put(None)

    def attempt(self, task, stop):
        started = int(time.time() * 1000)
        try:
            outcome, message = instances.ATTEMPT_OUTCOME_SUCCESS, run(task.job, stop)
        except Exception as error:
            outcome, message = instances.ATTEMPT_OUTCOME_EXCEPTION, repr(error)
        if stop.is_set():
            outcome = instances.ATTEMPT_OUTCOME_CANCELLED
        with self.lock:
            key = task.instance_id, task.attempt
            self.results[key] = work.TaskResult(instance_id=key[0], attempt=key[1], incarnation=self.incarnation, outcome=outcome,
                                                message=message, started_at=started, ended_at=int(time.time() * 1000))
            del self.running[key]
            self.granted += 1
        self.report()
        if not self.leaving:
            self.send(slots=work.Slots(granted=self.granted))

    def report(self):
        """Sends the results that are not on their way, each in a frame of its own."""
        with self.lock:
            for key in self.results.keys() - self.flying.values():
                self.sequence += 1
                self.flying[self.sequence] = key
                self.send(results=work.Results(sequence=self.sequence, results=[self.results[key]]))

    def send(self, **frame):
        self.frames.put(work.WorkRequest(**frame))


address, group = sys.argv[1:]
worker = Worker(group)
signal.signal(signal.SIGTERM, lambda *_: setattr(worker, 'leaving', True))
with grpc.insecure_channel(address) as channel:
    while not worker.leaving or worker.running or worker.results:
        try:
            worker.session(WorkerServiceStub(channel))
        except grpc.RpcError as error:
            print('lost the tracker:', error.code(), error.details(), file=sys.stderr)
            time.sleep(1)
