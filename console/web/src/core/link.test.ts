import { expect, test } from "vitest";
import { Link, type Frame, type Socket } from "./link";

/** A network of sockets that do what the test says, and a clock that stands still. */
function lab(admitted: () => boolean | Error = () => true) {
  const sockets: (Socket & { after: number; named: string[]; sent: string[]; gone: boolean })[] = [];
  const frames: Frame[] = [];
  const states: string[] = [];
  const verdicts: string[] = [];
  const timers: { work: () => void; ms: number }[] = [];
  const link = new Link({
    open: (after, named) => {
      const socket: (typeof sockets)[number] = {
        after, named, sent: [], gone: false, readyState: 1, onmessage: null, onopen: null, onclose: null,
        send: (text) => void socket.sent.push(String(text)), close: () => void (socket.gone = true),
      };
      sockets.push(socket);
      return socket;
    },
    take: (batch) => frames.push(...batch),
    reread: (verdict) => verdicts.push(verdict),
    changed: (state) => states.push(state),
    admitted: async () => {
      const answer = admitted();
      if (answer instanceof Error) throw answer;
      return answer;
    },
    schedule: (work) => work(),
    online: () => true,
    random: () => 1,
    later: (work, ms) => {
      const timer = { work, ms };
      timers.push(timer);
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1));
    },
  });
  const say = (...frames: object[]) => frames.forEach((f) => sockets.at(-1)!.onmessage!({ data: JSON.stringify(f) }));
  const pass = async () => {
    const timer = timers.shift()!;
    timer.work();
    await Promise.resolve();
    await Promise.resolve();
    return timer.ms;
  };
  return { link, sockets, frames, states, verdicts, timers, say, pass };
}

test("it resumes behind the last frame it has handled", async () => {
  const { link, sockets, say, pass, frames, states } = lab();
  link.start(100);
  say({ type: "ready" }, { type: "resumed", from: 100, to: 120 }, { type: "x", pos: 112 }, { type: "y", offset: 3 });
  sockets[0]!.onclose!({ code: 1006 });
  await pass();
  expect([sockets.map((s) => s.after), frames.map((f) => f.type), states]).toEqual([[100, 112], ["x", "y"], ["live", "connecting"]]);
});

test("a gap and another database are read again", () => {
  const { link, verdicts, say } = lab();
  link.start(5);
  say({ type: "gap", from: 5, to: 90, oldest: 50 }, { type: "x", pos: 64 });
  say({ type: "ahead", from: 64, to: 7 });
  expect([verdicts, link.last]).toEqual([["gap", "ahead"], 7]);
});

test("it waits longer from try to try, and no longer once it was live", async () => {
  const { link, sockets, pass, say } = lab();
  link.start(0);
  const waits: number[] = [];
  for (let i = 0; i < 8; i++) {
    sockets.at(-1)!.onclose!({ code: 1006 });
    waits.push(await pass());
  }
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 10000, 10000]);
  say({ type: "resumed" });
  sockets.at(-1)!.onclose!({ code: 1006 });
  expect(await pass()).toBe(250);
});

test("a server that restarts is asked at once", async () => {
  const { link, sockets, pass, say } = lab();
  link.start(0);
  say({ type: "resumed" });
  sockets[0]!.onclose!({ code: 1012 });
  expect(await pass()).toBe(50);
  expect(sockets.length).toBe(2);
});

test("who is not let in any more has to log in", async () => {
  const { link, sockets, pass, states } = lab(() => false);
  link.start(0);
  sockets[0]!.onclose!({ code: 1008 });
  await pass();
  expect([sockets.length, states.at(-1), link.state]).toEqual([1, "login", "login"]);
});

test("it keeps asking while there is no response", async () => {
  const { link, sockets, pass, timers } = lab(() => new Error("refused"));
  link.start(0);
  sockets[0]!.onclose!({ code: 1006 });
  await pass();
  await pass();
  expect([sockets.length, timers.length]).toEqual([1, 1]);
});

test("a socket that slept and says nothing is replaced; one that answers is kept", async () => {
  const silent = lab();
  silent.link.start(0);
  silent.say({ type: "resumed" });
  silent.link.probe();
  expect(silent.sockets[0]!.sent).toEqual(['{"type":"ping"}']);
  await silent.pass();
  expect([silent.sockets.length, silent.sockets[0]!.gone]).toEqual([2, true]);

  const alive = lab();
  alive.link.start(0);
  alive.say({ type: "resumed" });
  alive.link.probe();
  alive.say({ type: "pong" });
  await alive.pass();
  expect(alive.sockets.length).toBe(1);
});

test("without a network it says so at once, and comes back when there is one", () => {
  const { link, sockets, states, say } = lab();
  link.start(0);
  say({ type: "resumed" });
  link.lost();
  expect([states.at(-1), sockets[0]!.gone]).toEqual(["offline", true]);
  link.retry();
  say({ type: "resumed" });
  expect(link.state).toBe("live");
});

const subscribe = (...threadIds: string[]) => JSON.stringify({ type: "subscribe", threadIds });
/** held reports whether it is connected by now. */
const held = async (following: Promise<void>) => {
  let holds = false;
  void following.then(() => (holds = true));
  await Promise.resolve();
  await Promise.resolve();
  return holds;
};

test("threads whose texts are followed hold when the server says so, each in its turn", async () => {
  const { link, sockets, say } = lab();
  link.start(1);
  const [one, two] = [link.follow(["a"]), link.follow(["a", "b"])];
  expect(sockets[0]!.sent).toEqual([subscribe("a"), subscribe("a", "b")]);
  expect([await held(one), await held(two)]).toEqual([false, false]);
  say({ type: "subscribed" });
  expect([await held(one), await held(two)]).toEqual([true, false]);
  say({ type: "subscribed" });
  expect(await held(two)).toBe(true);
});

test("a connection being opened gets threads named in the meantime, the next one starts with them", async () => {
  const { link, sockets, say, pass } = lab();
  expect(await held(link.follow(["a"]))).toBe(true); // there is none
  link.start(1);
  Object.assign(sockets[0]!, { readyState: 0 });
  const [one, two] = [link.follow(["b"]), link.follow(["b", "c"])];
  expect([sockets[0]!.named, sockets[0]!.sent, await held(one)]).toEqual([["a"], [], false]);
  Object.assign(sockets[0]!, { readyState: 1 });
  sockets[0]!.onopen!();
  expect(sockets[0]!.sent).toEqual([subscribe("b", "c")]);
  say({ type: "ready" }, { type: "subscribed" });
  expect([await held(one), await held(two)]).toEqual([true, true]);
  const lost = link.follow(["d"]);
  sockets[0]!.onclose!({ code: 1006 });
  expect(await held(lost)).toBe(true);
  await pass();
  expect([sockets[1]!.named, sockets[1]!.sent]).toEqual([["d"], []]);
});
