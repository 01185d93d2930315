# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
import json
import os
from typing import Callable

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
claim = beta.claim_task(models.ClaimTaskInput(task_id=made.task_id))
token: int = claim.claim_token

asked = alpha.ask_question(models.AskQuestionInput(question="Ship it?", options=["yes", "no"]))
human.answer_question(models.AnswerQuestionInput(question_id=asked.question_id, response="yes"))
reply = alpha.get_response(models.GetResponseInput(question_id=asked.question_id, wait_ms=5000))

again = fault(lambda: alpha.claim_task(models.ClaimTaskInput(task_id=made.task_id)))
wrong = fault(lambda: alpha.create_task(models.CreateTaskInput(title="", target="beta")))
nobody = fault(lambda: Parley(url, "parley_nobody").list_sessions())


def unused() -> None:
    models.CreateTaskInput(target="beta")  # pyright: ignore[reportCallIssue]
    models.CreateTaskInput(title="t", target="beta", priority="urgent")  # pyright: ignore[reportArgumentType]
    alpha.no_such_operation()  # pyright: ignore


print(json.dumps({
    "taskId": made.task_id, "listed": [t.id for t in listed.tasks], "token": token, "answer": reply.response,
    "refused": again.code, "wrong": wrong.code, "fields": [d["path"] for d in wrong.details],
    "nobody": nobody.code, "status": nobody.status,
}))
