# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
import json
import os
from typing import Any, Callable, Dict

from parley import Fault, Parley, models

url = os.environ["PARLEY_URL"]
alpha, beta, human = (Parley(url, os.environ[name]) for name in ("ALPHA", "BETA", "HUMAN"))


def fault(call: Callable[[], object]) -> Fault:
    try:
        call()
    except Fault as e:
        return e
    raise AssertionError("it was not refused")


made = alpha.create_task(models.CreateTaskInput(
    title="Review the parser", target="beta", priority=models.Priority.HIGH))
listed = beta.get_tasks(models.GetTasksInput(target="beta", limit=5))
raw: Dict[str, Any] = beta.call("GET", "/v1/tasks", {"target": "beta"}, ())
claim = beta.claim_task(models.ClaimTaskInput(task_id=made.task_id))
token: int = claim.claim_token

asked = alpha.ask_question(models.AskQuestionInput(question="Ship it?", options=["yes", "no"]))
human.answer_question(models.AnswerQuestionInput(question_id=asked.question_id, response="yes"))
reply = alpha.get_response(models.GetResponseInput(question_id=asked.question_id, wait_ms=5000))

again = fault(lambda: alpha.claim_task(models.ClaimTaskInput(task_id=made.task_id)))
wrong = fault(lambda: alpha.create_task(models.CreateTaskInput(title="", target="beta")))
nobody = fault(lambda: Parley(url, "parley_nobody").list_sessions())

# Of a newer server: another value of a field with one, another value of a field with some, and another field.
status: str = models.HealthOutput.from_dict({"status": "busy", "version": "v9.0.0", "load": 1}).status
assert status == "busy"
row = {**raw["tasks"][0], "status": "resting", "priority": "whenever", "mood": "calm"}
later = models.GetTasksOutput.from_dict({"tasks": [row]})
assert (later.tasks[0].status, later.tasks[0].priority) == ("resting", "whenever")


def unused() -> None:
    models.CreateTaskInput(target="beta")  # pyright: ignore[reportCallIssue]
    models.CreateTaskInput(title="t", target="beta", priority="urgent")  # pyright: ignore[reportArgumentType]
    alpha.no_such_operation()  # pyright: ignore


print(json.dumps({
    "taskId": made.task_id, "listed": [t.id for t in listed.tasks], "token": token, "answer": reply.response,
    "refused": again.code, "wrong": wrong.code, "fields": [d["path"] for d in wrong.details],
    "nobody": nobody.code, "status": nobody.status,
}))
