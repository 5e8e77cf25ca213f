import { useLayoutEffect, useRef, type KeyboardEvent, type ReactNode, type RefObject } from "react";

type LayerProps = {
  /** What opened it: it stands beside that, and the focus returns there. */
  anchor: RefObject<HTMLElement | null>;
  close: () => void;
  role: "menu" | "dialog";
  label: string;
  children: ReactNode;
  className?: string;
  onKeyDown?: (e: KeyboardEvent<HTMLDivElement>) => void;
};

/** How far it stays from the edges of the window, in px. */
const margin = 8;

/** Layer stands above the page. Escape closes it, and so does a focus or a pointer that goes elsewhere. A phone shows it as a sheet. */
export function Layer({ anchor, close, role, label, children, className = "", onKeyDown }: LayerProps) {
  const layer = useRef<HTMLDivElement>(null);
  const closing = useRef(close);
  closing.current = close;
  useLayoutEffect(() => {
    const el = layer.current!;
    const opener = anchor.current!;
    el.showPopover();
    const place = () => {
      const at = opener.getBoundingClientRect();
      const below = at.bottom + el.offsetHeight + margin <= innerHeight || at.top < el.offsetHeight + margin;
      el.style.setProperty("--x", `${Math.max(margin, Math.min(at.left, innerWidth - el.offsetWidth - margin))}px`);
      el.style.setProperty("--y", `${Math.max(margin, Math.min(below ? at.bottom + 4 : at.top - el.offsetHeight - 4, innerHeight - el.offsetHeight - margin))}px`);
    };
    const sized = new ResizeObserver(place);
    sized.observe(el);
    place();
    (el.querySelector<HTMLElement>("[data-first]") ?? el.querySelector<HTMLElement>("button, input, select"))?.focus();
    const outside = (e: Event) => {
      if (!el.contains(e.target as Node) && !opener.contains(e.target as Node)) closing.current();
    };
    document.addEventListener("pointerdown", outside, true);
    addEventListener("resize", place);
    return () => {
      sized.disconnect();
      document.removeEventListener("pointerdown", outside, true);
      removeEventListener("resize", place);
      if (el.contains(document.activeElement)) opener.focus();
    };
  }, [anchor]);
  return (
    <div
      ref={layer} popover="manual" role={role} aria-label={label} className={`popover layer ${className}`}
      onClick={(e) => e.stopPropagation()}
      onBlur={(e) => e.relatedTarget && !e.currentTarget.contains(e.relatedTarget) && e.relatedTarget !== anchor.current && close()}
      onKeyDown={(e) => {
        e.stopPropagation(); // its keys are not those of what it stands on
        if (e.key === "Escape" && !e.nativeEvent.isComposing) close();
        else onKeyDown?.(e);
      }}
    >
      {children}
    </div>
  );
}
