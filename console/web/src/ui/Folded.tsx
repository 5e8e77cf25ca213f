import { useState } from "react";
import { styled } from "../core/ansi";
import { text } from "../text";

/** What is longer is folded: lines, letters, and the lines that are shown of it. What is very long opens in a page of its own. */
const [mostLines, mostLetters, shownLines, pageLetters] = [40, 4000, 12, 200_000];

/** openAsText shows a text in a page of its own. */
function openAsText(said: string) {
  const url = URL.createObjectURL(new Blob([said], { type: "text/plain;charset=utf-8" }));
  window.open(url, "_blank", "noopener");
  setTimeout(() => URL.revokeObjectURL(url), 60_000); // the page has read it by then
}

/** Folded shows a long text folded, with its line breaks: its first lines, or the last ones of an output, with its colors. */
export function Folded({ said, output = false }: { said: string; output?: boolean }) {
  const [all, setAll] = useState(false);
  const lines = said.replace(/\n$/, "").split("\n");
  const long = lines.length > mostLines || said.length > mostLetters;
  let shown = said.replace(/\n$/, "");
  if (long && !all) {
    shown = (output ? lines.slice(-shownLines) : lines.slice(0, shownLines)).join("\n");
    shown = output ? shown.slice(-mostLetters) : shown.slice(0, mostLetters);
  }
  const more = said.length > pageLetters ? <button className="quiet" type="button" onClick={() => openAsText(said)}>{text.talk.asText}</button>
    : <button className="quiet" type="button" aria-expanded={all} onClick={() => setAll(!all)}>{all ? text.fold.less : lines.length > shownLines ? text.fold.lines(lines.length) : text.fold.all}</button>;
  const button = long && more;
  if (!output) return <>{shown}{button && <div>{button}</div>}</>;
  return (
    <div className="output">
      {button}
      <pre tabIndex={0}>{styled(shown).map(({ text: part, style }, i) => (style ? <span key={i} className={style}>{part}</span> : part))}</pre>
    </div>
  );
}
