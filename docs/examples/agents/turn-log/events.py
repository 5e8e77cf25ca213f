"""An extension in Python: handlers below, and the whole line protocol in 60 lines, without any package.

One JSON object a line. In: load, invoke, answer, end. Out: ready, result, error, ended, tool, log (see docs/extensions-hosts.md).
Standard output belongs to the protocol; print to stderr instead.
"""

import json
import sys

SUBSCRIPTIONS = []
HANDLERS = []
CALLS = 0


def on(event_type, **options):
    """Registers the function below it for an event; options are priority and timeoutMs."""

    def register(handler):
        SUBSCRIPTIONS.append({"eventType": event_type, **options})
        HANDLERS.append(handler)
        return handler

    return register


def send(**message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Ended(Exception):
    """The server does not wait for this handler any more."""


class Tools:
    """What a handler may do while it runs."""

    def __init__(self, invocation):
        self.invocation = invocation

    def log(self, level, message, **fields):
        send(type="log", id=self.invocation, level=level, message=message, fields=fields)

    def enqueue_job(self, job):
        return self._call("enqueueJob", job)

    def session_settings(self, session_id):
        return self._call("getSessionSettings", session_id)

    def _call(self, name, *args):
        global CALLS
        CALLS += 1
        call = CALLS
        send(type="tool", id=self.invocation, call=call, name=name, args=args)
        for line in sys.stdin:
            message = json.loads(line)
            if message["type"] == "answer" and message["call"] == call:
                if "error" in message:
                    raise RuntimeError(message["error"])
                return message.get("value")
            if message["type"] == "end" and message["id"] == self.invocation:
                send(type="ended", id=self.invocation)
                raise Ended
        sys.exit(0)


@on("app_server.turn.completed", priority=200)
def turn_completed(event, tools):
    context = event["payload"].get("context", {})
    tools.log("info", "a turn is over", threadId=context.get("threadId"), turnId=context.get("turnId"))


@on("suggest_request.requested", timeoutMs=8000)
def suggest(event, tools):
    payload = event["payload"]
    return tools.enqueue_job({
        "type": "agent_instruction",
        "projectId": payload["projectId"],
        "sourceSessionId": payload["sessionId"],
        "payload": {
            "agent": "turn-log",
            "jobKind": "suggest_request",
            "instructionText": "Suggest one next request for: " + payload.get("userRequest", ""),
            "dedupeKey": "suggest_request:" + payload["sessionId"],
            "expectResponse": "none",
            "completionSignal": {"kind": "suggested_request", "requestKey": payload["requestKey"]},
        },
    })


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "load":
            send(type="ready", protocol=1, subscriptions=SUBSCRIPTIONS)
        elif message["type"] == "end":
            send(type="ended", id=message["id"])
        elif message["type"] == "invoke":
            try:
                value = HANDLERS[message["subscription"]](message["event"], Tools(message["id"]))
                send(type="result", id=message["id"], value=value)
            except Ended:
                pass
            except Exception as error:
                send(type="error", id=message["id"], message=str(error) or type(error).__name__)


if __name__ == "__main__":
    main()
