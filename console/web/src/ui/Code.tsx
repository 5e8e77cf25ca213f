import { memo, useEffect, useState } from "react";
import { text } from "../text";

/** Beyond this a block is shown as it is: highlighting would hold the page. */
const longest = 60_000;

export const Code = memo(function Code({ code, lang, open }: { code: string; lang: string; open: boolean }) {
  const [html, setHTML] = useState<string | null>(null);
  useEffect(() => {
    if (open || !lang || code.length > longest) return;
    let gone = false;
    void import("./highlight").then(({ highlight }) => {
      const made = highlight(code, lang);
      if (!gone && made !== null) setHTML(made);
    });
    return () => void (gone = true);
  }, [code, lang, open]);
  return (
    <div className="code">
      <div className="code-head">
        <span>{lang}</span>
        <Copy text={code} />
      </div>
      {html === null ? <pre tabIndex={0}><code>{code}</code></pre> : <pre tabIndex={0}><code dangerouslySetInnerHTML={{ __html: html }} /></pre>}
    </div>
  );
});

/** Copy puts a text into the clipboard. */
export function Copy({ text: copied, label = text.session.copy }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button className="quiet" type="button" onClick={() => void navigator.clipboard?.writeText(copied).then(() => setDone(true))}>
      {done ? text.session.copied : label}
    </button>
  );
}
