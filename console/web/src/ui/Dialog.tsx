import { useEffect, useRef, type ReactNode } from "react";

/** Dialog is the browser's own: it keeps the focus, and Escape closes it. */
export function Dialog({ title, close, children, wide }: { title: string; close: () => void; children: ReactNode; wide?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const el = dialog.current!;
    el.showModal();
    return () => el.close();
  }, []);
  return (
    <dialog ref={dialog} aria-label={title} onCancel={close} onClick={(e) => e.target === e.currentTarget && close()}>
      {!wide && <h2>{title}</h2>}
      {children}
    </dialog>
  );
}
