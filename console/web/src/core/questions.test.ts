import { describe, expect, test } from "vitest";
import { answersTo, mark, markOwn, type, unmarked } from "./questions";
import type { Question } from "./types";

const one: Question = { id: "q1", question: "Which?", options: [{ label: "a, b" }, { label: '"c"' }, { label: "d" }], isOther: true };
const several: Question = { ...one, multiple: true };

describe("a question that takes one answer", () => {
  test("has the option that was clicked last", () => {
    expect(answersTo(one, mark(one, mark(one, unmarked, "d"), "a, b"))).toEqual(["a, b"]);
  });
  test("has one's own words instead of an option, and an option instead of them", () => {
    const own = type(one, mark(one, unmarked, "d"), "mine");
    expect(answersTo(one, own)).toEqual(["mine"]);
    expect(answersTo(one, mark(one, own, "d"))).toEqual(["d"]);
  });
});

describe("a question that takes several answers", () => {
  test("has all that are marked, whole and in the order of the options", () => {
    expect(answersTo(several, mark(several, mark(several, unmarked, '"c"'), "a, b"))).toEqual(["a, b", '"c"']);
  });
  test("loses an option that is clicked again", () => {
    expect(answersTo(several, mark(several, mark(several, unmarked, "d"), "d"))).toEqual([]);
  });
  test("has one's own words beside the options while they are marked", () => {
    const both = type(several, mark(several, unmarked, "d"), "x, y");
    expect(answersTo(several, both)).toEqual(["d", "x, y"]);
    expect(answersTo(several, markOwn(several, both))).toEqual(["d"]);
  });
  test("without options has an answer for each line", () => {
    const free: Question = { id: "q", question: "Which?", multiple: true };
    expect(answersTo(free, type(free, unmarked, "a, b\n\n c "))).toEqual(["a, b", "c"]);
  });
});
