import { useRef, useState, type FocusEvent, type KeyboardEvent } from "react";
import { aims, focused, press, type Aim } from "../core/requestKeys";
import { text } from "../text";
import { useClient } from "./hooks";
import { usePreferences } from "./preferences";

const fields = "input, textarea, select, [contenteditable=true]";

type Acts = { decide: (aim: Aim) => void; leave: () => void; move?: (key: string) => void };

/** useRequestKeys has the keys of a request card that has the focus: see core/requestKeys. */
export function useRequestKeys(offers: Aim[], labels: Record<Aim, string>, acts: Acts) {
  const client = useClient();
  const [{ keys: on }] = usePreferences();
  const state = useRef(focused(0));
  const [aim, setAim] = useState<Aim | null>(null);
  const [within, setWithin] = useState(false);
  const set = (next: typeof state.current) => {
    state.current = next;
    setAim(next.aim);
  };
  const enters = (has: boolean) => (e: FocusEvent) => {
    if (e.currentTarget.contains(e.relatedTarget)) return;
    set(focused(Date.now()));
    setWithin(has);
  };
  const onKeyDown = (e: KeyboardEvent) => {
    const target = e.target as Element;
    if (target.closest(fields) || !(on || e.key === "Escape")) return;
    const [next, outcome] = press(state.current, e.nativeEvent, Date.now(), { offers, inbox: !!acts.move, button: !!target.closest("button, summary, a") });
    set(next);
    if (outcome === null) return;
    e.preventDefault();
    e.stopPropagation();
    if (outcome === "aim") client.announce(text.request.aimed(labels[next.aim!], text.request.aims[next.aim!]));
    else if (outcome === "move") acts.move!(e.key.toLowerCase());
    else if (outcome === "leave") acts.leave();
    else if (typeof outcome === "object") acts.decide(outcome.decide);
  };
  return {
    aim, onKeyDown, onFocus: enters(true), onBlur: enters(false),
    aimed: (one: Aim) => ({ "data-aim": aim === one || undefined }),
    /** hint is the key of a button: its letter while the card has the focus, Enter when it is aimed at. */
    hint: (one: Aim) => on && within && <kbd aria-hidden="true">{aim === one ? "Enter" : letters[one]}</kbd>,
  };
}

const letters = Object.fromEntries(Object.entries(aims).map(([letter, aim]) => [aim, letter.toUpperCase()])) as Record<Aim, string>;
