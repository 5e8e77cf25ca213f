// The built-in child for Node: it loads one bundled extension and speaks JSON lines with the server over stdin and stdout. The checks
// here only help the author; the server checks everything again.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const write = process.stdout.write.bind(process.stdout);
// Standard output carries the protocol: all other output goes to standard error, which the server logs.
process.stdout.write = process.stderr.write.bind(process.stderr);

const late = "agent handler invocation is no longer active";
const maxResult = 1 << 20;
const maxText = 8 << 10;
const concurrency = 64;

const handlers = [];
const live = new Set();
const calls = new Map();
let nextCall = 1;
let open = false;

function describe(error) {
  try {
    if (error !== null && typeof error === "object" && typeof error.message === "string") return error.message.slice(0, maxText);
    return String(error).slice(0, maxText);
  } catch {
    return "unknown error";
  }
}

function lenient(_, value) {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return value;
}

function encode(value) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch {
    text = JSON.stringify(value, lenient);
  }
  if (text !== undefined && text.length > maxResult) {
    throw new RangeError(`a value of ${text.length} characters is larger than the limit of ${maxResult}`);
  }
  return text;
}

function send(message) {
  write(JSON.stringify(message) + "\n");
}

// sendValue inserts encoded JSON into a message.
function sendValue(message, key, text) {
  const head = JSON.stringify(message);
  write(text === undefined ? head + "\n" : `${head.slice(0, -1)},${JSON.stringify(key)}:${text}}\n`);
}

function log(id, level, args) {
  const fields = args.length > 0 && typeof args[0] !== "string" ? args[0] : null;
  const rest = fields === null ? args : args.slice(1);
  try {
    const message = rest.map((part) => (typeof part === "string" ? part : JSON.stringify(part, lenient))).join(" ").slice(0, maxText);
    let text = JSON.stringify(fields, lenient) ?? "null";
    if (text.length > maxText) text = JSON.stringify(text.slice(0, maxText));
    sendValue({ type: "log", id, level, message }, "fields", text);
  } catch (error) {
    send({ type: "log", id, level, message: "log line that can not be written: " + describe(error) });
  }
}

const levels = [["trace", "debug"], ["debug", "debug"], ["info", "info"], ["warn", "warn"], ["error", "error"], ["fatal", "error"]];

function logger(id, bindings) {
  const made = {};
  for (const [name, level] of levels) {
    made[name] = (...args) => {
      if (bindings) {
        const first = args[0];
        if (first !== null && typeof first === "object") args[0] = { ...bindings, ...(first instanceof Error ? { err: first } : first) };
        else args.unshift(bindings);
      }
      log(id, level, args);
    };
  }
  made.child = (more) => logger(id, { ...bindings, ...more });
  return made;
}

Object.assign(console, logger(0), { log: (...args) => log(0, "info", args) });

function call(id, name, args) {
  return new Promise((resolve, reject) => {
    if (!live.has(id)) throw new Error(late);
    const text = encode(args);
    const number = nextCall++;
    calls.set(number, { id, resolve, reject });
    sendValue({ type: "tool", id, call: number, name }, "args", text);
  });
}

function end(id) {
  live.delete(id);
  for (const [number, waiting] of calls) {
    if (waiting.id === id) {
      calls.delete(number);
      waiting.reject(new Error(late));
    }
  }
}

function finish(id, ok, value) {
  if (!live.has(id)) return;
  let text;
  try {
    text = ok ? encode(value) : undefined;
  } catch (error) {
    ok = false;
    value = new Error("the handler's result can not be used: " + describe(error));
  }
  end(id);
  if (ok) sendValue({ type: "result", id }, "value", text);
  else send({ type: "error", id, message: describe(value) });
}

const registry = {
  on(eventType, handler, options) {
    if (!open) throw new Error("handlers are registered while registerAgentEvents runs, not later");
    if (typeof eventType !== "string" || eventType === "") throw new TypeError("registry.on needs the event's name");
    if (typeof handler !== "function") throw new TypeError(`registry.on(${eventType}) needs a function`);
    const { priority, timeoutMs } = options ?? {};
    const subscription = { eventType };
    if (typeof priority === "number" && Number.isFinite(priority)) subscription.priority = Math.trunc(priority);
    if (typeof timeoutMs === "number" && timeoutMs > 0) subscription.timeoutMs = Math.ceil(Math.min(timeoutMs, 2147483647));
    handlers.push({ handler, subscription });
  },
};

const oldestNode = 20;

async function load(message) {
  if (Number.parseInt(process.versions.node, 10) < oldestNode) {
    return send({ type: "failed", code: "import_failed", message: `this is Node ${process.versions.node}, and extensions need ${oldestNode} or later` });
  }
  // Modules have none, but the loaders for which extensions were written provide one.
  globalThis.require = createRequire(message.entry);
  let module;
  try {
    module = await import(pathToFileURL(message.script).href);
  } catch (error) {
    return send({ type: "failed", code: "import_failed", message: describe(error) });
  }
  const register = module.registerAgentEvents ?? module.default?.registerAgentEvents;
  if (typeof register !== "function") return send({ type: "failed", code: "missing_register", message: "" });
  open = true;
  try {
    await register(registry);
  } catch (error) {
    return send({ type: "failed", code: "registration_failed", message: describe(error) });
  } finally {
    open = false;
  }
  const has = (name) => name.includes(".") || name in globalThis;
  const missing = (message.uses ?? []).filter((name) => !has(name));
  send({ type: "ready", protocol: 1, concurrency, subscriptions: handlers.map((one) => one.subscription), missing });
}

async function invoke({ id, subscription, event, settings }) {
  live.add(id);
  const tools = { enqueueJob: (input) => call(id, "enqueueJob", [input]), logger: logger(id) };
  if (settings) {
    tools.getSessionSettings = (sessionId) => call(id, "getSessionSettings", [sessionId]);
    tools.getSessionSetting = (sessionId, key) => call(id, "getSessionSetting", [sessionId, key]);
  }
  try {
    finish(id, true, await handlers[subscription].handler(event, tools));
  } catch (error) {
    finish(id, false, error);
  }
}

function receive(message) {
  switch (message.type) {
    case "load":
      return void load(message);
    case "invoke":
      return void invoke(message);
    case "answer": {
      const waiting = calls.get(message.call);
      if (!waiting) return;
      calls.delete(message.call);
      if (message.error !== undefined) waiting.reject(new Error(message.error));
      else waiting.resolve(message.value);
      return;
    }
    case "end":
      end(message.id);
      return send({ type: "ended", id: message.id });
  }
}

// One handler's stray error must not end the others.
process.on("uncaughtException", (error) => log(0, "error", ["uncaught error: " + describe(error)]));
process.on("unhandledRejection", (error) => log(0, "error", ["unhandled rejection: " + describe(error)]));

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) receive(JSON.parse(line));
});
process.stdin.on("end", () => process.exit(0));
