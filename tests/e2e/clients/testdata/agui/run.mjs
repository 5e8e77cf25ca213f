// Runs a session through AG-UI's own client, which checks the order of the events of each run, or checks events from standard input.
import { HttpAgent, enforceEvents, verifyEvents } from "@ag-ui/client";
import { from, lastValueFrom, toArray } from "rxjs";
import { text } from "node:stream/consumers";

const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const [url, message, id] = process.argv.slice(2);

if (url === "verify") {
  const events = JSON.parse(await text(process.stdin));
  const checked = await lastValueFrom(from(events).pipe(enforceEvents(), verifyEvents(), toArray()));
  say({ checked: checked.length });
} else {
  const agent = new HttpAgent({ url, threadId: "mine", initialMessages: [{ id: "m-1", role: "user", content: message }] });
  const events = [];
  let failed = "";
  try {
    await agent.runAgent({ runId: id }, {
      onEvent: ({ event }) => { events.push(event.type); },
      onRunErrorEvent: ({ event }) => { failed = event.message; },
    });
  } catch (error) {
    failed ||= String(error?.message ?? error);
  }
  say({ events, failed, state: agent.state, messages: agent.messages });
}
