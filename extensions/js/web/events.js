// DOMException, Event, CustomEvent, EventTarget, AbortController and AbortSignal as in the DOM standard, without the parts
// that need a document.
(function (web) {
  "use strict";
  const codes = {
    IndexSizeError: 1, HierarchyRequestError: 3, WrongDocumentError: 4, InvalidCharacterError: 5, NoModificationAllowedError: 7,
    NotFoundError: 8, NotSupportedError: 9, InUseAttributeError: 10, InvalidStateError: 11, SyntaxError: 12, InvalidModificationError: 13,
    NamespaceError: 14, InvalidAccessError: 15, TypeMismatchError: 17, SecurityError: 18, NetworkError: 19, AbortError: 20,
    URLMismatchError: 21, QuotaExceededError: 22, TimeoutError: 23, InvalidNodeTypeError: 24, DataCloneError: 25,
  };
  class DOMException extends Error {
    #name;
    constructor(message = "", name = "Error") {
      super(message);
      // Node also accepts {name, cause} in place of the name.
      const options = name !== null && typeof name === "object" ? name : { name };
      this.#name = String(options.name ?? "Error");
      if ("cause" in options) Object.defineProperty(this, "cause", { value: options.cause, configurable: true, writable: true });
    }
    get name() { return this.#name; }
    get code() { return codes[this.#name] ?? 0; }
    get [Symbol.toStringTag]() { return "DOMException"; }
  }
  for (const [name, code] of Object.entries(codes)) {
    const constant = name.replace(/Error$/, "").replace(/(?<!^)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase() + "_ERR";
    for (const owner of [DOMException, DOMException.prototype]) Object.defineProperty(owner, constant, { value: code, enumerable: true });
  }

  // The state that dispatching changes about an event; its listeners cannot reach it.
  const state = new WeakMap();
  class Event {
    constructor(type, init = {}) {
      if (arguments.length === 0) throw new TypeError("Event needs a type");
      state.set(this, { target: null, current: null, phase: 0, stop: false, prevented: false, passive: false, busy: false });
      const fixed = { type: String(type), bubbles: !!init?.bubbles, cancelable: !!init?.cancelable, composed: !!init?.composed };
      for (const [key, value] of Object.entries({ ...fixed, timeStamp: performance.now(), isTrusted: false })) {
        Object.defineProperty(this, key, { value, enumerable: true, configurable: true });
      }
    }
    get target() { return state.get(this).target; }
    get srcElement() { return state.get(this).target; }
    get currentTarget() { return state.get(this).current; }
    get eventPhase() { return state.get(this).phase; }
    get defaultPrevented() { return state.get(this).prevented; }
    get returnValue() { return !state.get(this).prevented; }
    get cancelBubble() { return state.get(this).stop; }
    composedPath() { return this.currentTarget === null ? [] : [this.currentTarget]; }
    preventDefault() {
      const own = state.get(this);
      if (this.cancelable && !own.passive) own.prevented = true;
    }
    stopPropagation() {}
    stopImmediatePropagation() { state.get(this).stop = true; }
    get [Symbol.toStringTag]() { return "Event"; }
  }
  ["NONE", "CAPTURING_PHASE", "AT_TARGET", "BUBBLING_PHASE"].forEach((name, value) => {
    for (const owner of [Event, Event.prototype]) Object.defineProperty(owner, name, { value, enumerable: true });
  });
  class CustomEvent extends Event {
    #detail;
    constructor(type, init = {}) {
      super(type, init);
      this.#detail = init?.detail ?? null;
    }
    get detail() { return this.#detail; }
    get [Symbol.toStringTag]() { return "CustomEvent"; }
  }

  class EventTarget {
    #listeners = [];
    addEventListener(type, callback, options) {
      if (callback === null || callback === undefined) return;
      if (typeof callback !== "function" && typeof callback !== "object") throw new TypeError("a listener is a function or an object");
      const wish = options !== null && typeof options === "object" ? options : { capture: !!options };
      if (wish.signal?.aborted) return;
      const listener = { type: String(type), callback, capture: !!wish.capture, once: !!wish.once, passive: !!wish.passive };
      if (this.#listeners.some((one) => one.type === listener.type && one.callback === callback && one.capture === listener.capture)) return;
      if (this.#listeners.length >= web.limits.timers) throw new RangeError("more than " + web.limits.timers + " listeners");
      this.#listeners.push(listener);
      wish.signal?.addEventListener("abort", () => this.removeEventListener(type, callback, wish), { once: true });
    }
    removeEventListener(type, callback, options) {
      const capture = options !== null && typeof options === "object" ? !!options.capture : !!options;
      this.#listeners = this.#listeners.filter((one) => {
        const goes = one.type === String(type) && one.callback === callback && one.capture === capture;
        if (goes) one.removed = true;
        return !goes;
      });
    }
    dispatchEvent(event) {
      const own = state.get(event);
      if (!own) throw new TypeError("dispatchEvent needs an Event");
      if (own.busy) throw new DOMException("The event is already being dispatched", "InvalidStateError");
      Object.assign(own, { target: this, current: this, phase: 2, busy: true, stop: false });
      for (const listener of [...this.#listeners]) {
        if (own.stop) break;
        if (listener.removed || listener.type !== event.type) continue;
        if (listener.once) this.removeEventListener(listener.type, listener.callback, listener);
        own.passive = listener.passive;
        try {
          if (typeof listener.callback === "function") listener.callback.call(this, event);
          else listener.callback.handleEvent(event);
        } catch (error) {
          web.report("uncaught error in a listener", error);
        }
      }
      Object.assign(own, { current: null, phase: 0, busy: false, passive: false });
      return !own.prevented;
    }
    get [Symbol.toStringTag]() { return "EventTarget"; }
  }

  const key = Symbol("made by a controller");
  class AbortSignal extends EventTarget {
    #aborted = false;
    #reason;
    #onabort = null;
    #dependents = [];
    constructor(made) {
      if (made !== key) throw new TypeError("Illegal constructor");
      super();
    }
    get aborted() { return this.#aborted; }
    get reason() { return this.#reason; }
    get onabort() { return this.#onabort; }
    set onabort(callback) {
      if (this.#onabort) this.removeEventListener("abort", this.#onabort);
      this.#onabort = typeof callback === "function" ? callback : null;
      if (this.#onabort) this.addEventListener("abort", this.#onabort);
    }
    throwIfAborted() {
      if (this.#aborted) throw this.#reason;
    }
    get [Symbol.toStringTag]() { return "AbortSignal"; }
    static abort(reason) {
      const signal = new AbortSignal(key);
      AbortSignal.#fire(signal, reason);
      return signal;
    }
    static timeout(ms) {
      if (!(Number(ms) >= 0)) throw new RangeError("AbortSignal.timeout needs milliseconds");
      const signal = new AbortSignal(key);
      setTimeout(() => AbortSignal.#fire(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms);
      return signal;
    }
    static any(signals) {
      const signal = new AbortSignal(key);
      const sources = [...signals];
      for (const source of sources) if (!(source instanceof AbortSignal)) throw new TypeError("AbortSignal.any needs signals");
      const first = sources.find((source) => source.aborted);
      if (first) AbortSignal.#fire(signal, first.reason);
      else for (const source of sources) source.#dependents.push(signal);
      return signal;
    }
    static #fire(signal, reason = new DOMException("This operation was aborted", "AbortError")) {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason;
      const dependents = signal.#dependents;
      signal.#dependents = [];
      signal.dispatchEvent(new Event("abort"));
      for (const dependent of dependents) AbortSignal.#fire(dependent, reason);
    }
    static [key](signal, reason) { AbortSignal.#fire(signal, reason); }
  }
  const fire = AbortSignal[key];
  delete AbortSignal[key];
  class AbortController {
    #signal = new AbortSignal(key);
    get signal() { return this.#signal; }
    abort(reason) { fire(this.#signal, reason); }
    get [Symbol.toStringTag]() { return "AbortController"; }
  }
  return { DOMException, Event, CustomEvent, EventTarget, AbortController, AbortSignal };
})
