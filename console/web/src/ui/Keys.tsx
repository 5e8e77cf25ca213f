import { useEffect, useMemo } from "react";
import { useLocation } from "wouter";
import { Chord } from "../core/keys";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { typing } from "./hooks";
import { Palette } from "./Palette";
import { usePreferences } from "./preferences";

/** Keys are those that count on every page: the palette, the list of keys, and the ways to the pages. */
export function Keys({ dialog, show }: { dialog: "search" | "keys" | null; show: (dialog: "search" | "keys" | null) => void }) {
  const [{ keys }] = usePreferences();
  const [, go] = useLocation();
  const chord = useMemo(() => new Chord(), []);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "k") {
        if (document.querySelector("dialog[open]") && dialog === null) return; // one at a time
        e.preventDefault();
        return show(dialog === "search" ? null : "search");
      }
      if (!keys || e.repeat || typing(e) || (e.target as Element).closest?.("[data-request]")) return; // a focused request has keys of its own
      const { to, waits } = chord.press(e.key);
      if (e.key === "/") show("search");
      else if (to !== null) go(to);
      else if (e.key === "?") show("keys");
      else if (!waits) return;
      e.preventDefault();
      e.stopImmediatePropagation(); // `g j` is not the inbox's `j`
    };
    addEventListener("keydown", onKey, true);
    return () => removeEventListener("keydown", onKey, true);
  }, [keys, dialog, show, chord, go]);
  return (
    <>
      {dialog === "search" && <Palette close={() => show(null)} keys={() => show("keys")} />}
      {dialog === "keys" && (
        <Dialog title={text.keys.title} close={() => show(null)}>
          <table className="keys-list">
            <tbody>{text.keys.list.map(([key, what]) => <tr key={key}><th scope="row">{key.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</th><td>{what}</td></tr>)}</tbody>
          </table>
          {!keys && <p className="dim">{text.keys.off}</p>}
        </Dialog>
      )}
    </>
  );
}
