import { expect, test } from "vitest";
import { fitting, mentionAt } from "./mention";

test("a mention is the path behind an @ that begins a word", () => {
  expect(mentionAt("see @src/ma", 11)).toEqual({ from: 5, folder: "src/", name: "ma" });
  expect(mentionAt("@", 1)).toEqual({ from: 1, folder: "", name: "" });
  expect(mentionAt("line\n@a b", 7)).toEqual({ from: 6, folder: "", name: "a" });
  for (const text of ["ana@example.com", "see @src/main.go now", "no mention"]) expect(mentionAt(text, text.length)).toBeNull();
});

test("names that begin with what is typed come first", () => {
  const entries = ["domain.go", "main.go", "MAIN.txt", "other.go"].map((name) => ({ name }));
  expect(fitting(entries, "main", 3).map(({ name }) => name)).toEqual(["main.go", "MAIN.txt", "domain.go"]);
  expect(fitting(entries, "", 2).map(({ name }) => name)).toEqual(["domain.go", "main.go"]);
});
