// Loaded when the first finished block of code is shown.
import core from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const languages = { bash, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(languages)) core.registerLanguage(name, language);
core.registerAliases(["sh", "shell", "console"], { languageName: "bash" });

/** highlight is safe HTML of a code, null for a language it does not know. */
export function highlight(code: string, lang: string): string | null {
  return core.getLanguage(lang) ? core.highlight(code, { language: lang, ignoreIllegals: true }).value : null;
}
