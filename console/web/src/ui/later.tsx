import { useEffect, useState, type FunctionComponent } from "react";
import { text } from "../text";

/**
 * later is a part of the page whose code is loaded when it is first drawn. Until then it says so; a failure is thrown while
 * drawing.
 */
export function later<P extends object>(load: () => Promise<FunctionComponent<P>>): FunctionComponent<P> {
  let Loaded: FunctionComponent<P> | null = null;
  return function Later(props: P) {
    const [state, set] = useState<{ failure?: unknown }>({});
    useEffect(() => {
      if (Loaded) return;
      let gone = false;
      load().then((part) => { Loaded = part; }, (failure: unknown) => ({ failure })).then((failed) => gone || set(failed ?? {}));
      return () => { gone = true; };
    }, []);
    if (state.failure) throw state.failure;
    return Loaded ? <Loaded {...props} /> : <p className="pad dim" role="status">{text.session.loading}</p>;
  };
}
