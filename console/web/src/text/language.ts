// The language of the page: the one chosen in the settings, otherwise the first one of the browser that there is.
import { readPreferences } from "../core/preferences";

export const languages = ["en", "de"] as const;
export type Language = (typeof languages)[number];

/** languageOf chooses a language of the page: a chosen one, otherwise the first supported one of the browser. */
export function languageOf(chosen: string, wanted: readonly string[]): Language {
  const known = (name: string) => languages.find((language) => name.toLowerCase().split("-")[0] === language);
  return known(chosen) ?? wanted.map(known).find((language) => language !== undefined) ?? "en";
}

const wanted = typeof navigator === "undefined" ? [] : navigator.languages ?? [navigator.language];
const chosen = typeof localStorage === "undefined" ? "system" : readPreferences(localStorage).language;

export const language = languageOf(chosen, wanted);
/** The browser's own locale of that language, for dates and numbers: "en-GB" where the browser has it. */
export const locale = wanted.find((name) => name.toLowerCase().split("-")[0] === language) ?? language;
