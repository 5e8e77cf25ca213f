"""Has a task done that asks for an approval, and prints how it went: python3 task.py URL FOLDER MESSAGE"""
import json
import re
import sys
import urllib.parse
import urllib.request

import schema

url, cwd, message = sys.argv[1:]


def call(path, read, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return read(json.load(answer))


def events(path):
    request = urllib.request.Request(url + path, headers={"Accept": "text/event-stream"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        number, data = None, None
        for line in (raw.decode().rstrip("\n") for raw in answer):
            if line.startswith("id: "):
                number = line[4:]
            elif line.startswith("data: "):
                data = line[6:]
            elif line == "":
                if number is not None:
                    yield schema.task_event_from_dict(json.loads(data))
                number, data = None, None


wish = schema.TaskSessionCreate.from_dict({"permission_mode": "ask", "native_tools": "on", "cwd": cwd})
made = call("/v1/sessions", schema.task_session_from_dict, schema.task_session_create_to_dict(wish))
base = "/v1/sessions/" + made.session_id
task = schema.TaskCreate.from_dict({"messages": [{"role": "user", "content": message}]})
accepted = call(base + "/tasks", schema.task_accepted_from_dict, schema.task_create_to_dict(task))
seen, asked = [], None
for event in events(base + "/events?stream=1"):
    seen.append(event.type)
    if event.type == "tool.call.requested":
        asked = event.payload
    if event.type == "tool.call.policy_evaluated" and event.payload["result"] == "ask":
        decision = schema.TaskDecision.from_dict(
            {"attempt": asked["attempt"], "input_hash": asked["input_hash"], "reason": "Python says so"}
        )
        call(
            base + "/tool-calls/" + urllib.parse.quote(asked["tool_call_id"], safe="") + "/approve",
            schema.task_decided_from_dict,
            schema.task_decision_to_dict(decision),
        )
    if re.fullmatch(r"task\.(completed|failed|stopped)", event.type):
        break
ended = call(base + "/tasks/" + accepted.task_id, schema.task_from_dict)
print(json.dumps({"status": ended.status.value, "events": seen}))
