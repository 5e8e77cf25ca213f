// The keys of a request card that has the focus, itself or one of its buttons. A letter only aims; Enter decides. The focus
// stays where it is while a letter aims, so Space never decides.

/** What a letter aims at: a button of the card. */
export type Aim = "approve" | "session" | "always" | "decline" | "reason";

export const aims: Record<string, Aim> = { y: "approve", s: "session", a: "always", n: "decline", r: "reason" };

/** How long a card must have had the focus before a letter counts, in ms: what comes sooner was meant for another place. */
const settle = 400;

/** Typing means that the letters were a text: they are dead until the focus leaves the card and returns. */
export type Keys = { aim: Aim | null; typing: boolean; since: number };

export const focused = (now: number): Keys => ({ aim: null, typing: false, since: now });

export type Key = Pick<KeyboardEvent, "key" | "repeat" | "isComposing" | "ctrlKey" | "metaKey" | "altKey">;

/** What a key comes to: null is the browser's own, "block" nothing at all. */
export type Outcome = null | "block" | "aim" | "move" | "cancel" | "leave" | { decide: Aim };

/** press returns the next state, and what to do. `button`: the focus is on a button of the card. In the inbox J, K and X are commands. */
export function press(state: Keys, e: Key, now: number, { offers = Object.values(aims), inbox = false, button = false } = {}): [Keys, Outcome] {
  if (e.isComposing || e.ctrlKey || e.metaKey || e.altKey) return [state, null];
  const printable = [...e.key].length === 1;
  if (e.repeat) return [state, printable || e.key === "Enter" ? "block" : null];
  if (e.key === "Escape") return state.aim ? [{ ...state, aim: null }, "cancel"] : [state, "leave"];
  if (state.typing) return [state, printable || e.key === "Enter" ? "block" : null];
  if (e.key === "Enter") return state.aim ? [focused(now), { decide: state.aim }] : [state, null];
  if (!printable) return [state, null];
  const key = e.key.toLowerCase();
  if (key === " " && !state.aim && button) return [state, null];
  if (inbox && !state.aim && "jkx".includes(key)) return [focused(now), "move"];
  const aim = aims[key];
  if (state.aim || !aim || !offers.includes(aim) || now - state.since < settle) return [{ ...state, aim: null, typing: true }, "block"];
  return [{ ...state, aim }, "aim"];
}
