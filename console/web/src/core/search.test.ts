import { expect, test } from "vitest";
import { best, fits, pieces } from "./search";

test("words fit better than letters, beginnings better than middles, and what is not there not at all", () => {
  const names = ["Reload extensions", "Fix the lock in the hub", "Go to inbox", "Unlock the door", "Flock of birds"];
  expect(best("lock", names, (n) => n, 9)).toEqual(["Fix the lock in the hub", "Flock of birds", "Unlock the door"]);
  expect(best("fth", names, (n) => n, 9)[0]).toBe("Fix the lock in the hub");
  expect(best("", names, (n) => n, 2)).toEqual(names.slice(0, 2));
  expect(fits("zz", "Go to inbox")).toBe(0);
});

test("a text is cut at its marks, and nothing of it is lost", () => {
  const marks = [{ start: 0, end: 2 }, { start: 2, end: 4 }, { start: 6, end: 8 }];
  expect(pieces("abcdefgh", marks).map((p) => (p.marked ? `[${p.text}]` : p.text))).toEqual(["[ab]", "[cd]", "ef", "[gh]"]);
  expect(pieces("\u{1f600} a", [{ start: 3, end: 4 }])).toEqual([{ text: "\u{1f600} ", marked: false }, { text: "a", marked: true }]);
  expect(pieces("", [])).toEqual([]);
});
