import { expect, test } from "vitest";
import { Composing, type Said } from "./composing";
import { Drafts, type Store } from "./drafts";

function memory(): Store & { values: Map<string, string> } {
  const values = new Map<string, string>();
  return { values, getItem: (name) => values.get(name) ?? null, setItem: (name, value) => void values.set(name, value), removeItem: (name) => void values.delete(name) };
}

/** slow is a composer whose server responds on demand. */
function slow() {
  const store = memory();
  const asked: { said: Said; behind: boolean; answer: (err?: Error) => Promise<void> }[] = [];
  const composing = new Composing("s", new Drafts(store), (said, behind) => new Promise((done, failed) => {
    asked.push({ said, behind, answer: (err) => { if (err) failed(err); else done(); return new Promise((next) => setTimeout(next)); } });
  }), (err) => (err as Error).message);
  const enter = (text: string, steer = false) => {
    composing.write(text);
    void composing.send({ effort: "", steer });
  };
  return { composing, asked, enter, reloaded: () => new Drafts(store).get("s") };
}

test("what is entered while a message is under way goes out behind it, in order", async () => {
  const { composing, asked, enter } = slow();
  enter("one");
  enter("two", true);
  enter("three");
  composing.write("four");
  expect(asked.map(({ said }) => said.text)).toEqual(["one"]);
  for (let n = 0; n < 3; n++) await asked[n]!.answer();
  expect(asked.map(({ said, behind }) => [said.text, said.steer, behind])).toEqual([["one", false, false], ["two", true, true], ["three", false, true]]);
  expect([composing.text, composing.busy]).toEqual(["four", false]);
});

test("a message that is not taken comes back with those behind it, before what is typed", async () => {
  const { composing, asked, enter } = slow();
  composing.attach("a.png", "blob:a", async () => "upload:a");
  enter("one");
  enter("two");
  composing.write("three");
  composing.attach("b.png", "blob:b", async () => "upload:b");
  await asked[0]!.answer(new Error("no room"));
  expect([composing.text, composing.failure, composing.busy, asked.length]).toEqual(["one\ntwo\nthree", "no room", false, 1]);
  expect(composing.images.map((image) => image.name)).toEqual(["a.png", "b.png"]);
  void composing.send({ effort: "", steer: false });
  expect([asked[1]!.said.text, composing.failure]).toEqual(["one\ntwo\nthree", null]);
});

test("a reload keeps every message that was not accepted", async () => {
  const { composing, asked, enter, reloaded } = slow();
  enter("one");
  enter("two");
  composing.write("thr");
  expect(reloaded()).toBe("one\ntwo\nthr");
  await asked[0]!.answer();
  expect([reloaded(), composing.text]).toEqual(["two\nthr", "thr"]);
  await asked[1]!.answer();
  expect(reloaded()).toBe("thr");
});

test("nothing is sent of an empty draft", () => {
  const { asked, enter } = slow();
  enter("  \n");
  expect(asked).toEqual([]);
});

test("a picture is uploaded while the message is written: its progress shows, and why it failed", async () => {
  const { composing, asked, enter } = slow();
  let report = (_: number) => {};
  let fail = (_: Error) => {};
  composing.attach("a.png", "blob:a", (progress) => {
    report = progress;
    return new Promise((_, failed) => (fail = failed));
  });
  const [image] = composing.images;
  report(0.5);
  expect([image!.progress, image!.failure]).toEqual([0.5, null]);
  fail(new Error("too long"));
  await new Promise((next) => setTimeout(next));
  expect(image!.failure).toBe("too long");
  composing.detach(image!);
  enter("without it");
  expect(asked[0]!.said.images).toEqual([]);
});

test("stopping a turn waits for earlier messages, but not for a server that does not respond", async () => {
  const { composing, asked, enter } = slow();
  await composing.answered(60_000); // nothing is under way
  enter("one", true);
  enter("two", true);
  const order: string[] = [];
  const stopped = composing.answered(60_000).then(() => order.push("stopped"));
  await asked[0]!.answer();
  order.push("one");
  await asked[1]!.answer();
  await stopped;
  expect(order).toEqual(["one", "stopped"]);
  enter("three");
  await composing.answered(1);
  expect(composing.busy).toBe(true);
});

test("what the server has not answered is held, in order, and goes out again, or becomes a draft", async () => {
  const store = memory();
  const tried: [text: string, behind: boolean][] = [];
  let away = true;
  const composing = new Composing("s", new Drafts(store), ({ text }, behind) => {
    tried.push([text, behind]);
    return away ? Promise.reject(new Error("away")) : Promise.resolve();
  }, (err) => (err as Error).message, (err) => (err as Error).message === "away");
  const enter = (text: string) => {
    composing.write(text);
    void composing.send({ effort: "", steer: false });
    return new Promise((next) => setTimeout(next));
  };
  await enter("one");
  await enter("two");
  expect([composing.held, composing.text, composing.failure, new Drafts(store).get("s")]).toEqual([["one", "two"], "", null, "one\ntwo"]);
  composing.resume();
  await new Promise((next) => setTimeout(next));
  expect(composing.held).toEqual(["one", "two"]);
  away = false;
  composing.resume();
  await new Promise((next) => setTimeout(next));
  expect(tried).toEqual([["one", false], ["one", false], ["one", false], ["two", true]]);
  expect([composing.held, composing.heldSince, composing.busy]).toEqual([[], null, false]);
  away = true;
  await enter("three");
  composing.release();
  await new Promise((next) => setTimeout(next));
  expect([composing.text, composing.held, composing.failure]).toEqual(["three", [], "away"]);
});
