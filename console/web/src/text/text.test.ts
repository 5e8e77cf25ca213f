import { expect, test } from "vitest";
import { languageOf } from "./language";
import { german } from "./de";
import { text as en, type Texts } from "./en";
import { counted } from "./plural";

/** said are all texts of a language by their keys; those with values have a count, or that number as a word. */
function said(texts: unknown, n: number, at = ""): [string, string][] {
  if (typeof texts === "string") return [[at, texts]];
  if (typeof texts === "object") return Object.entries(texts as object).flatMap(([key, value]) => said(value, n, `${at}.${key}`));
  const say = texts as (...values: unknown[]) => string;
  try {
    return [[at, say(n, n, n)]];
  } catch {
    return [[at, say(String(n), String(n))]]; // it takes words only
  }
}

const sources = import.meta.glob<string>("../**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

// CO-31
test("a count has the right form of its noun", () => {
  expect([0, 1, 3, 1204].map((n) => counted("en-US")(n, "file"))).toEqual(["0 files", "1 file", "3 files", "1,204 files"]);
  expect([0, 1, 1204].map((n) => counted("de-DE")(n, "Datei", "Dateien"))).toEqual(["0 Dateien", "1 Datei", "1.204 Dateien"]);
});

// CO-32
test("the language is the chosen one, or the first of the browser that there is", () => {
  expect(languageOf("system", ["fr-FR", "de-AT", "en-US"])).toBe("de");
  expect(languageOf("system", ["en-GB", "de"])).toBe("en");
  expect(languageOf("en", ["de"])).toBe("en");
  expect(languageOf("de", ["en"])).toBe("de");
  expect(languageOf("system", ["ja"])).toBe("en");
});

test("every text comes from the page's language, not from a table of one", () => {
  const wrong = Object.entries(sources).filter(([name, source]) => name.startsWith("../") && /from "[./]*text\/(en|de)"/.test(source));
  expect(wrong.map(([name]) => name)).toEqual([]);
});

test.each([["en", en], ["de", german(counted)]] as [string, Texts][])("the texts of %s keep the rules", (_, texts) => {
  for (const n of [0, 1, 2]) {
    for (const [key, value] of said(texts, n)) {
      expect(value, `${key} has an apostrophe or a mark of a typewriter`).not.toMatch(/\p{L}'\p{L}|\.\.\.|"/u);
      expect(value, key).not.toMatch(/\b1 (commands|changes|files|approvals|sessions|requests|comments|lines|steps|days|turns|images|extensions)\b/);
      expect(value, key).not.toMatch(/\b1 (Befehle|Änderungen|Dateien|Sitzungen|Anfragen|Zeilen|Schritte|Tage|Bilder|Erweiterungen)\b/);
      expect(value, key).not.toMatch(/\b(t[o]ld|n[o]body|who[e]ver|goes on|as the system|of it|Nothing fits|log in|logged)\b/i);
    }
  }
});
