import { expect, test } from "vitest";
import { digest, Outbox } from "./outbox";

function memory(): Pick<Storage, "getItem" | "setItem"> {
  const values = new Map<string, string>();
  return { getItem: (name) => values.get(name) ?? null, setItem: (name, value) => void values.set(name, value) };
}

test("an unacknowledged message keeps its key over a reload, an acknowledged one gets another", () => {
  const store = memory();
  let made = 0;
  const outbox = () => new Outbox(store, () => 1000, () => `key ${++made}`);
  const key = (message: string) => outbox().sent(message, { to: "messages" }).key;
  expect(key("hello")).toBe("key 1");
  expect(key("hello")).toBe("key 1");
  expect(key("hello!")).toBe("key 2");
  outbox().answered("hello");
  expect(key("hello")).toBe("key 3");
  expect(key("hello!")).toBe("key 2");
});

test("an unacknowledged message is sent the same way again", () => {
  const outbox = new Outbox(memory(), () => 1000, () => "key");
  expect(outbox.sent("hello", { to: "messages", effort: "low" }).way).toEqual({ to: "messages", effort: "low" });
  expect(outbox.sent("hello", { to: "queue" }).way).toEqual({ to: "messages", effort: "low" });
  outbox.answered("hello");
  expect(outbox.sent("hello", { to: "queue" }).way).toEqual({ to: "queue" });
});

test("keys do not pile up, and end with the server's memory of them", () => {
  const store = memory();
  let [now, made] = [0, 0];
  const outbox = new Outbox(store, () => ++now, () => `key ${++made}`);
  for (let i = 0; i < 100; i++) outbox.sent(`message ${i}`, { to: "queue" });
  expect(store.getItem("harness.unanswered")!.length).toBeLessThan(6000);
  expect(outbox.sent("message 99", { to: "queue" }).key).toBe("key 100");
  now += 24 * 3600_000;
  expect(outbox.sent("message 99", { to: "queue" }).key).toBe("key 101");
});

test("a store with foreign content is no obstacle", () => {
  const store = memory();
  store.setItem("harness.unanswered", "no JSON");
  expect(new Outbox(store, () => 1, () => "key").sent("x", { to: "queue" }).key).toBe("key");
});

test("digests distinguish messages", () => {
  const texts = ["", "a", "b", "ab", "ba", "a".repeat(1000), "a".repeat(999) + "b"];
  expect(new Set(texts.map(digest)).size).toBe(texts.length);
});
