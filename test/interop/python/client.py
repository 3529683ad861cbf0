"""Submits jobs to LTS and waits for their results. Usage: python3 client.py HOST:PORT NODE_GROUP"""
import queue
import sys
import time

import grpc
from lts.v1 import feedback_service_pb2 as feedback
from lts.v1 import job_service_pb2 as jobs
from lts.v1 import schedule_service_pb2 as schedule
from lts.v1.feedback_service_pb2_grpc import FeedbackServiceStub
from lts.v1.instance_pb2 import InstanceState
from lts.v1.job_pb2 import Job
from lts.v1.job_service_pb2_grpc import JobServiceStub
from lts.v1.schedule_pb2 import ScheduleState
from lts.v1.schedule_service_pb2_grpc import ScheduleServiceStub

address, group = sys.argv[1:]
channel = grpc.insecure_channel(address)
service = JobServiceStub(channel)


def job(task_id, **fields):
    return Job(task_id=task_id, node_group=group, need_feedback=True, submit_node_group='python-app', **fields)


# One job. The call returns once the job is on disk, and raises grpc.RpcError when it was not taken.
one = service.SubmitJob(jobs.SubmitJobRequest(job=job('hello', payload=b'world', ext_params={'lang': 'py'})), timeout=10)
print('submitted', one.result.instance_id)

# A batch: one outcome per job, in the order of the request.
batch = service.SubmitJobs(jobs.SubmitJobsRequest(jobs=[job(f'batch-{n}', payload=b'%d' % n) for n in range(3)] + [job('')]), timeout=10)
for result in batch.results:
    print('outcome', jobs.SubmitOutcome.Name(result.outcome), *filter(None, [result.reason]))

# A job for later, taken back.
service.SubmitJob(jobs.SubmitJobRequest(job=job('later', trigger_time=int(time.time() * 1000) + 3_600_000)), timeout=10)
cancelled = service.CancelJob(jobs.CancelJobRequest(task_id='later', node_group=group), timeout=10)
print('cancel', jobs.CancelOutcome.Name(cancelled.outcome))

# A schedule: the same call, then by its name.
schedules = ScheduleServiceStub(channel)
name = {'task_id': 'nightly', 'node_group': group}
service.SubmitJob(jobs.SubmitJobRequest(job=Job(cron_expression='0 3 * * *', time_zone='Europe/Berlin', **name)), timeout=10)
listed = schedules.ListSchedules(schedule.ListSchedulesRequest(node_group=group), timeout=10).schedules
print('schedules', *[f'{each.job.task_id} {each.job.cron_expression} {ScheduleState.Name(each.state)}' for each in listed])
schedules.SuspendSchedule(schedule.SuspendScheduleRequest(**name), timeout=10)
suspended = schedules.GetSchedule(schedule.GetScheduleRequest(**name), timeout=10).schedule
print('suspended', ScheduleState.Name(suspended.state), len(suspended.next_fire_times))
schedules.DeleteSchedule(schedule.DeleteScheduleRequest(**name), timeout=10)

# The five results. What is acked never comes again; everything else does, with the same feedback_id.
frames = queue.SimpleQueue()
frames.put(feedback.WatchFeedbackRequest(hello=feedback.FeedbackHello(submit_node_group='python-app', client_id='client.py')))
seen = set()
for response in FeedbackServiceStub(channel).WatchFeedback(iter(frames.get, None), timeout=60):
    for result in response.results:
        print('result', result.task_id, InstanceState.Name(result.state), result.message)
        seen.add(result.feedback_id)
    frames.put(feedback.WatchFeedbackRequest(ack=feedback.FeedbackAck(feedback_ids=[result.feedback_id for result in response.results])))
    if len(seen) == 5:
        frames.put(None)  # Ends our half of the stream; the tracker ends its half after it has taken the acks.
