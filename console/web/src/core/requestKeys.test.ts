import { expect, test } from "vitest";
import { aims, focused, press, type Aim, type Key, type Outcome } from "./requestKeys";

const key = (name: string, more: Partial<Key> = {}): Key => ({ key: name, repeat: false, isComposing: false, ctrlKey: false, metaKey: false, altKey: false, ...more });

type Way = { delay: number; pace: number; inbox?: boolean; button?: boolean };

/** type has a line typed on a card that got the focus at 0, itself or a button of it, and returns what it did. */
function type(line: Key[], { delay, pace, inbox = false, button = false }: Way): Outcome[] {
  let state = focused(0);
  return line.map((e, i) => {
    const [next, outcome] = press(state, e, delay + i * pace, { inbox, button });
    state = next;
    if (outcome === "move") button = false; // it moves the focus to a card
    return outcome === null && button && ["Enter", " "].includes(e.key) ? { decide: "approve" } : outcome; // as the browser does
  });
}

const slowly = { delay: 1000, pace: 1000 };
const keys = (text: string) => [...text].map((letter) => key(letter === "\n" ? "Enter" : letter));
const decided = (did: Outcome[]) => did.some((one) => one !== null && typeof one === "object");

test("a letter aims, Enter decides, Escape cancels and then leaves", () => {
  for (const [letter, aim] of Object.entries(aims)) {
    expect(type(keys(`${letter}\n`), slowly)).toEqual(["aim", { decide: aim }]);
    expect(type(keys(`${letter.toUpperCase()}\n`), slowly)).toEqual(["aim", { decide: aim }]);
  }
  expect(type([key("n"), key("Escape"), key("Enter")], slowly)).toEqual(["aim", "cancel", null]); // as Enter does on what has the focus
  expect(type([key("Escape")], slowly)).toEqual(["leave"]);
  expect(type(keys("q\n"), slowly)).toEqual(["block", "block"]);
  expect(type(keys(" \n"), slowly)).toEqual(["block", "block"]);
  expect(type(keys(" "), { ...slowly, button: true })).toEqual([{ decide: "approve" }]); // the button that Tab reached
  expect(press(focused(0), key("a"), 1000, { offers: ["approve", "decline"] as Aim[] })[1]).toBe("block");
});

test("what is typed blocks letters and Enter until the focus leaves: a second letter, one that comes too soon, a Space that aims", () => {
  expect(type(keys("yy\ny\n"), slowly)).toEqual(["aim", "block", "block", "block", "block"]);
  expect(type(keys("y\n"), { delay: 399, pace: 1000 })).toEqual(["block", "block"]);
  expect(type(keys("y \n"), slowly)).toEqual(["aim", "block", "block"]);
  expect(type([key("y"), key("n", { isComposing: true }), key("c", { ctrlKey: true }), key("Tab"), key("Enter")], slowly)).toEqual(["aim", null, null, null, { decide: "approve" }]);
  expect(type([key("y"), key("y", { repeat: true }), key("Enter", { repeat: true })], slowly)).toEqual(["aim", "block", "block"]);
  expect(type([key("Tab", { repeat: true }), key("ArrowDown")], slowly)).toEqual([null, null]);
});

test("in the inbox J, K and X are commands; a letter counts again after a rest", () => {
  expect(type(keys("jxy\n"), { ...slowly, inbox: true })).toEqual(["move", "move", "aim", { decide: "approve" }]);
  expect(type(keys("jy\n"), { delay: 1000, pace: 100, inbox: true })).toEqual(["move", "block", "block"]);
});

/** lines are what may be typed: all lines of one and two letters, and generated ones of up to six words. */
function lines(n: number): string[] {
  const words = ("yes no please do not stop and run the tests again say why a an it is so sure ok never always approve decline just rename revert "
    + "this that file branch y n s r x j k ja nein bitte nicht so machen erst dann noch mal nur das andere 1 2 $ git push -f origin main npm run").split(" ");
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const all = [...letters, ...[...letters].flatMap((a) => [...letters].map((b) => a + b))];
  let seed = 1;
  const next = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  while (all.length < n) all.push(Array.from({ length: 1 + next(6) }, () => words[next(words.length)]!).join(" "));
  return all;
}

test("of 901,632 typed lines only one letter and Enter decide, in the inbox behind its own commands", { timeout: 60_000 }, () => {
  const deciders = new Set<string>();
  let typed = 0;
  for (const text of lines(9392)) {
    const line = keys(`${text}\n`);
    for (const [inbox, button] of [[false, false], [false, true], [true, false], [true, true]]) {
      for (const pace of [20, 60, 120, 250, 450, 1200]) {
        for (const delay of [0, 200, 500, 3000]) {
          typed++;
          if (decided(type(line, { pace, delay, inbox, button }))) deciders.add(`${inbox ? "inbox" : "session"}: ${text}`);
        }
      }
    }
  }
  expect(typed).toBe(901_632);
  expect([...deciders].filter((line) => !/^(session: [ysanr]|inbox: [jkx]*[ysanr]?)$/.test(line))).toEqual([]);
  expect(deciders.has("session: y")).toBe(true);
});
