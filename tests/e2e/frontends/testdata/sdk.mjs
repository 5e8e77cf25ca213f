// Carries out orders with the SDK of the Agent Client Protocol, which checks what comes against the schema. An order is a
// line on standard input; each line of standard output is what came on a connection.
import * as acp from "@agentclientprotocol/sdk";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const agents = new Map();
const children = [];

// socketStream carries messages as frames of a websocket.
async function socketStream(url) {
  const socket = new WebSocket(url);
  const readable = new ReadableStream({
    start(into) {
      socket.onmessage = ({ data }) => into.enqueue(JSON.parse(data));
      socket.onclose = () => into.close();
    },
  });
  await new Promise((open, fail) => { socket.onopen = open; socket.onerror = fail; });
  return { readable, writable: new WritableStream({ write: (message) => socket.send(JSON.stringify(message)) }) };
}

function processStream([command, ...args]) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  return acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
}

async function open({ on, command, url }) {
  const state = { permit: "allow_once" };
  const app = acp.client({ name: "test" })
    .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
      print({ on, asked: params });
      return { outcome: { outcome: "selected", optionId: params.options.find((one) => one.kind === state.permit).optionId } };
    })
    .onNotification(acp.methods.client.session.update, ({ params }) => print({ on, update: params }));
  for (const method of [acp.methods.client.fs.readTextFile, acp.methods.client.fs.writeTextFile]) {
    app.onRequest(method, () => { print({ on, used: method }); return { content: "of the client" }; });
  }
  await app.connectWith(url ? await socketStream(url) : processStream(command), (agent) => {
    agents.set(on, Object.assign(state, { agent }));
    print({ on, opened: true });
    return new Promise(() => {});
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  const { on, id, call, notify, permit, params } = order;
  const state = agents.get(on);
  if (call) {
    state.agent.request(call, params).then((result) => print({ on, id, result }), ({ code, message }) => print({ on, id, error: { code, message } }));
  } else if (notify) state.agent.notify(notify, params);
  else if (permit) state.permit = permit;
  else open(order).catch((error) => print({ on, failed: String(error) }));
}
children.forEach((child) => child.kill());
process.exit(0);
