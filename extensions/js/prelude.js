// This code runs in every VM before the extension: handlers, tools, timers, console and promises over ONE host function. It returns the
// functions that Go calls. It has no authority: Go checks every call again; an extension that breaks this code breaks only itself.
(function (settings) {
  "use strict";
  const limits = JSON.parse(settings);
  const host = globalThis.__host;
  delete globalThis.__host;
  const evaluate = eval;
  const { parse, stringify } = JSON;
  const PromiseCtor = Promise;
  const ErrorCtor = Error;
  const StringFn = String;
  const NumberFn = Number;
  const ObjectCtor = Object;
  const { defineProperty } = Object;
  const { max: MathMax, min: MathMin } = Math;
  const InternalErrorCtor = globalThis.InternalError;

  for (const name of ["dispose", "asyncDispose"]) { // for "using", which the bundler translates
    if (Symbol[name] === undefined) defineProperty(Symbol, name, { value: Symbol("Symbol." + name) });
  }

  const handlers = [];
  const live = new Set([0]); // running invocations; 0 means loading
  const calls = new Map(); // unanswered tool calls
  const timers = new Map();
  let current = 0; // the invocation of this turn
  let nextCall = 1;
  let nextTimer = 1;
  let open = false; // whether handlers may be registered

  function describe(error) {
    try {
      if (error instanceof InternalErrorCtor && error.message === "out of memory") host("memory", current, "");
      if (error !== null && typeof error === "object" && typeof error.message === "string") {
        return error.message.slice(0, limits.message);
      }
      return StringFn(error).slice(0, limits.message);
    } catch {
      return "unknown error";
    }
  }

  function lenient(_, value) {
    if (typeof value === "bigint") return StringFn(value);
    if (value instanceof ErrorCtor) return { name: value.name, message: value.message, stack: value.stack };
    return value;
  }

  // encode returns the JSON of a value, "" if JSON cannot express it. A replacer is slow and used only when the plain call fails.
  function encode(value) {
    if (value === undefined) return "";
    let text;
    try {
      text = stringify(value);
    } catch {
      text = stringify(value, lenient);
    }
    if (text === undefined) return "";
    if (text.length > limits.result) throw new RangeError("a value of " + text.length + " characters is larger than the limit of " + limits.result);
    return text;
  }

  function release(inv) {
    live.delete(inv);
    for (const [id, timer] of timers) if (timer.inv === inv) timers.delete(id);
  }

  function finish(inv, ok, value) {
    if (!live.has(inv)) return;
    let text;
    try {
      text = ok ? encode(value) : describe(value);
    } catch (error) {
      ok = false;
      text = "the handler's result can not be used: " + describe(error);
    }
    end(inv);
    host("done", inv, (ok ? "1" : "0") + text);
  }

  // end removes an invocation and rejects the calls that it waits for, so that its finally blocks run.
  function end(inv) {
    release(inv);
    for (const [id, call] of calls) {
      if (call.inv === inv) {
        calls.delete(id);
        call.reject(new ErrorCtor(limits.late));
      }
    }
  }

  // begin calls a tool and returns a promise of the answer; abandon(reason) rejects it and lets Go drop the call.
  function begin(inv, name, args) {
    let text;
    try {
      if (!live.has(inv)) throw new ErrorCtor(limits.late);
      if (calls.size >= limits.calls) throw new RangeError("more than " + limits.calls + " tool calls wait for their answers");
      text = encode(args);
    } catch (error) {
      return { answer: PromiseCtor.reject(error), abandon() {} };
    }
    // Keep the executor short: inside it a promise would swallow an interrupt.
    let resolve, reject;
    const answer = new PromiseCtor((one, other) => {
      resolve = one;
      reject = other;
    });
    const id = nextCall++;
    calls.set(id, { inv, resolve, reject });
    host("tool", inv, id + " " + name + " " + text);
    return {
      answer,
      abandon(reason) {
        if (!calls.delete(id)) return;
        reject(reason);
        host("abandon", inv, StringFn(id));
      },
    };
  }
  const call = (inv, name, args) => begin(inv, name, args).answer;

  function write(inv, level, args) {
    let fields = null;
    let rest = args;
    if (args.length > 0 && typeof args[0] !== "string") {
      fields = args[0];
      rest = args.slice(1);
    }
    let text;
    try {
      text = stringify([level, fields, rest.map((part) => (typeof part === "string" ? part : stringify(part, lenient))).join(" ")], lenient);
    } catch (error) {
      text = stringify([level, null, "log line that can not be written: " + describe(error)]);
    }
    if (text.length > limits.log) text = stringify([level, null, text.slice(0, limits.log)]);
    host("log", inv, text);
  }

  function logger(invocation, bindings) {
    const made = {};
    for (const [name, level] of [["trace", "debug"], ["debug", "debug"], ["info", "info"], ["warn", "warn"], ["error", "error"], ["fatal", "error"]]) {
      made[name] = (...args) => {
        if (bindings) {
          const first = args[0];
          if (first !== null && typeof first === "object") args[0] = { ...bindings, ...(first instanceof ErrorCtor ? { err: first } : first) };
          else args.unshift(bindings);
        }
        write(invocation(), level, args);
      };
    }
    made.child = (more) => logger(invocation, { ...bindings, ...more });
    return made;
  }

  function toolsOf(inv, settings) {
    let log;
    const tools = {
      enqueueJob: (input) => call(inv, "enqueueJob", [input]),
      get logger() {
        return (log ??= logger(() => inv));
      },
    };
    if (settings) {
      tools.getSessionSettings = (sessionId) => call(inv, "getSessionSettings", [sessionId]);
      tools.getSessionSetting = (sessionId, key) => call(inv, "getSessionSetting", [sessionId, key]);
    }
    return tools;
  }

  globalThis.console = Object.assign(logger(() => current), { log: (...args) => write(current, "info", args) });

  function after(name, repeat, callback, delay, args) {
    if (typeof callback !== "function") throw new TypeError(name + " needs a function");
    if (timers.size >= limits.timers) throw new RangeError("more than " + limits.timers + " timers wait");
    const id = nextTimer++;
    const handle = {
      ref: () => handle,
      unref: () => handle,
      hasRef: () => true,
      [Symbol.toPrimitive]: () => id,
    };
    // A timer belongs to the invocation that set it and ends with it; one without an invocation is ignored.
    if (live.has(current)) {
      let ms = MathMin(MathMax(NumberFn(delay) || 0, 0), 2147483647);
      if (repeat) ms = MathMax(ms, 1);
      timers.set(id, { inv: current, callback, args, every: repeat ? ms : 0 });
      host("timer", current, id + " " + ms);
    }
    return handle;
  }
  function clear(handle) {
    if (handle === undefined || handle === null) return;
    const id = NumberFn(handle);
    if (timers.delete(id)) host("clear", current, StringFn(id));
  }
  for (const [name, value] of ObjectCtor.entries({
    setTimeout: (callback, delay, ...args) => after("setTimeout", false, callback, delay, args),
    setInterval: (callback, delay, ...args) => after("setInterval", true, callback, delay, args),
    setImmediate: (callback, ...args) => after("setImmediate", false, callback, 0, args),
    clearTimeout: (handle) => clear(handle),
    clearInterval: (handle) => clear(handle),
    clearImmediate: (handle) => clear(handle),
  })) {
    globalThis[name] = value;
  }
  globalThis.queueMicrotask = function queueMicrotask(callback) {
    if (typeof callback !== "function") throw new TypeError("queueMicrotask needs a function");
    PromiseCtor.resolve().then(callback).catch((error) => write(current, "error", ["uncaught error in a microtask: " + describe(error)]));
  };

  // The other web globals are made at first use: most extensions use few of them, and every machine is new.
  const parts = new Map();
  function part(name) {
    if (!parts.has(name)) parts.set(name, evaluate(host("source", current, name))(web));
    return parts.get(name);
  }
  const web = {
    limits,
    part,
    remedy: limits.remedy,
    host: (operation, text) => host(operation, current, text),
    call: (name, args) => begin(current, name, args),
    report: (what, error) => write(current, "error", [what + ": " + describe(error)]),
  };
  for (const [name, from] of ObjectCtor.entries(limits.globals)) {
    const hold = (value) => defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
    defineProperty(globalThis, name, {
      get() {
        const value = part(from)[name];
        hold(value);
        return value;
      },
      set: hold,
      enumerable: false,
      configurable: true,
    });
  }

  const registry = {
    on(eventType, handler, options) {
      if (!open) throw new ErrorCtor("handlers are registered while registerAgentEvents runs, not later");
      if (typeof eventType !== "string" || eventType === "") throw new TypeError("registry.on needs the event's name");
      if (typeof handler !== "function") throw new TypeError("registry.on(" + eventType + ") needs a function");
      if (handlers.length >= limits.handlers) throw new RangeError("more than " + limits.handlers + " handlers");
      const { priority, timeoutMs } = options ?? {};
      const hasPriority = typeof priority === "number" && Number.isFinite(priority);
      handlers.push({
        handler,
        eventType,
        hasPriority,
        priority: hasPriority ? Math.trunc(priority) : 0,
        timeoutMs: typeof timeoutMs === "number" && timeoutMs > 0 ? Math.ceil(Math.min(timeoutMs, 2147483647)) : 0,
      });
    },
  };

  // report passes the result of loading to Go: ["ok", subscriptions] or [code, message].
  function report(...parts) {
    open = false;
    release(0);
    host("loaded", 0, stringify(parts));
  }

  function registered() {
    report("ok", handlers.map(({ eventType, hasPriority, priority, timeoutMs }) => ({ eventType, hasPriority, priority, timeoutMs })));
  }

  return {
    register(exports) {
      let register;
      try {
        register = exports?.registerAgentEvents ?? exports?.default?.registerAgentEvents;
      } catch (error) {
        return report("import_failed", describe(error));
      }
      if (typeof register !== "function") return report("missing_register", "");
      open = true;
      try {
        const result = register(registry);
        if (result === null || typeof result !== "object" || typeof result.then !== "function") return registered();
        PromiseCtor.resolve(result).then(registered, (error) => report("registration_failed", describe(error)));
      } catch (error) {
        report("registration_failed", describe(error));
      }
    },
    invoke(inv, index, json, settings) {
      current = inv;
      live.add(inv);
      try {
        const result = handlers[index].handler(parse(json), toolsOf(inv, settings));
        if (result === null || typeof result !== "object" || typeof result.then !== "function") return finish(inv, true, result);
        PromiseCtor.resolve(result).then((value) => finish(inv, true, value), (error) => finish(inv, false, error));
      } catch (error) {
        finish(inv, false, error);
      }
    },
    settle(id, ok, json) {
      const waiting = calls.get(id);
      if (!waiting) return;
      calls.delete(id);
      current = waiting.inv;
      if (ok) waiting.resolve(json === "" ? undefined : parse(json));
      else waiting.reject(new ErrorCtor(json));
    },
    fire(id) {
      const timer = timers.get(id);
      if (!timer) return;
      current = timer.inv;
      if (timer.every) host("timer", current, id + " " + timer.every);
      else timers.delete(id);
      try {
        timer.callback(...timer.args);
      } catch (error) {
        write(current, "error", ["uncaught error in a timer: " + describe(error)]);
      }
    },
    end(inv) {
      current = inv;
      end(inv);
    },
  };
})
