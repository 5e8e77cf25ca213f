// structuredClone as in the HTML standard, for the types that this machine supports.
(function () {
  "use strict";
  const refuse = (what) => new DOMException(what + " could not be cloned.", "DataCloneError");
  const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const views = { DataView };
  for (const name of Object.getOwnPropertyNames(globalThis)) if (/^(Big)?(Int|Uint|Float)\d+(Clamped)?Array$/.test(name)) views[name] = globalThis[name];
  const viewName = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
  const never = { Promise, WeakMap, WeakSet, WeakRef, SharedArrayBuffer, FinalizationRegistry, EventTarget, URL, URLSearchParams };

  function clone(value, seen) {
    const kind = typeof value;
    if (kind === "symbol") throw refuse(String(value));
    if (kind === "function") throw refuse(Function.prototype.toString.call(value).slice(0, 100));
    if (value === null || kind !== "object") return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (made) => {
      seen.set(value, made);
      return made;
    };
    const prototype = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === Array.prototype) return members(value, keep, seen);
    for (const [name, Never] of Object.entries(never)) if (value instanceof Never) throw refuse("#<" + name + ">");
    for (const Boxed of [Boolean, Number, String, BigInt]) if (value instanceof Boxed) return keep(Object(value.valueOf()));
    if (value instanceof Symbol) throw refuse("#<Symbol>");
    if (value instanceof Date) return keep(new Date(value.getTime()));
    if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
    if (value instanceof ArrayBuffer) return keep(cloneBuffer(value));
    if (ArrayBuffer.isView(value)) {
      const View = views[viewName.call(value) ?? "DataView"];
      return keep(new View(clone(value.buffer, seen), value.byteOffset, value.length ?? value.byteLength));
    }
    if (value instanceof Map) {
      const made = keep(new Map());
      for (const [key, inner] of [...Map.prototype.entries.call(value)]) made.set(clone(key, seen), clone(inner, seen));
      return made;
    }
    if (value instanceof Set) {
      const made = keep(new Set());
      for (const inner of [...Set.prototype.values.call(value)]) made.add(clone(inner, seen));
      return made;
    }
    if (value instanceof DOMException) return keep(new DOMException(value.message, value.name));
    if (value instanceof Error) {
      const made = keep(Object.setPrototypeOf(new Error(), (errors[value.name] ?? Error).prototype));
      for (const name of ["message", "stack", "cause"]) {
        delete made[name];
        const own = Object.getOwnPropertyDescriptor(value, name);
        if (!own || !("value" in own)) continue;
        const inner = name === "cause" ? clone(own.value, seen) : String(own.value);
        Object.defineProperty(made, name, { value: inner, writable: true, configurable: true });
      }
      return made;
    }
    return members(value, keep, seen);
  }

  // members clones a plain object or an array.
  function members(value, keep, seen) {
    const made = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const name of Object.keys(value)) {
      const inner = clone(value[name], seen);
      if (name === "__proto__") Object.defineProperty(made, name, { value: inner, writable: true, enumerable: true, configurable: true });
      else made[name] = inner;
    }
    return made;
  }

  function cloneBuffer(buffer) {
    if (buffer.detached) throw refuse("An ArrayBuffer that is detached");
    if (!buffer.resizable) return buffer.slice(0);
    const made = new ArrayBuffer(buffer.byteLength, { maxByteLength: buffer.maxByteLength });
    new Uint8Array(made).set(new Uint8Array(buffer));
    return made;
  }

  function structuredClone(value, options) {
    if (arguments.length === 0) throw new TypeError("structuredClone needs a value");
    const moved = [...(options?.transfer ?? [])];
    for (const buffer of moved) {
      if (!(buffer instanceof ArrayBuffer)) throw new TypeError("only an ArrayBuffer can be transferred");
      if (buffer.detached) throw refuse("An ArrayBuffer that is detached");
    }
    if (new Set(moved).size !== moved.length) throw refuse("An ArrayBuffer that is transferred twice");
    const made = clone(value, new Map());
    // Copy, then detach: the result equals a move, and a failure in between leaves the buffers intact.
    for (const buffer of moved) buffer.transfer();
    return made;
  }
  return { structuredClone };
})
