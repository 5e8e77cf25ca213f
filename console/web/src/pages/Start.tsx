import { text } from "../text/en";
import { AgentTrouble } from "../ui/AgentTrouble";

/** Start is the page of a new session. */
export function Start() {
  return <div className="start"><h1 className="title">{text.side.fresh}</h1><AgentTrouble /></div>;
}
