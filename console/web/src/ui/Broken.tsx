import { Component, type ReactNode } from "react";
import { text } from "../text";

/** Broken stands where a page has failed: it says so, and how to go on. What was typed is kept. */
export class Broken extends Component<{ children: ReactNode }, { failure: Error | null }> {
  state = { failure: null as Error | null };

  static getDerivedStateFromError(failure: Error) {
    return { failure };
  }

  render() {
    const { failure } = this.state;
    if (!failure) return this.props.children;
    return (
      <main className="pad" role="alert">
        <h1>{text.broken}</h1>
        <p className="failure">{failure.message}</p>
        <button type="button" onClick={() => location.reload()}>{text.upgrade.reload}</button> <span className="dim">{text.upgrade.note}</span>
      </main>
    );
  }
}
