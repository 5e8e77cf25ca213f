import { expect, test } from "vitest";
import { best, fits } from "./search";

test("words fit better than letters, beginnings better than middles, and what is not there not at all", () => {
  const names = ["Reload extensions", "Fix the lock in the hub", "Go to inbox", "Unlock the door", "Flock of birds"];
  expect(best("lock", names, (n) => n, 9)).toEqual(["Fix the lock in the hub", "Flock of birds", "Unlock the door"]);
  expect(best("fth", names, (n) => n, 9)[0]).toBe("Fix the lock in the hub");
  expect(best("", names, (n) => n, 2)).toEqual(names.slice(0, 2));
  expect(fits("zz", "Go to inbox")).toBe(0);
});
