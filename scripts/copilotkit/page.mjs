// A chat of CopilotKit with the session at ?agui=URL. CopilotKit shows messages and calls of tools itself; the list below
// shows what asks a person, which is an event of this server.
import { HttpAgent } from "@ag-ui/client";
import { CopilotChat, CopilotKitProvider, useAgent, useDefaultRenderTool } from "@copilotkit/react-core/v2";
import { createElement as h, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

function Requests() {
  const { agent } = useAgent();
  const [seen, see] = useState([]);
  useEffect(() => {
    const all = agent.subscribe({ onCustomEvent: ({ event }) => see((before) => [...before, event]) });
    return () => all.unsubscribe();
  }, [agent]);
  return h("ol", { id: "requests" }, seen.map((event, i) => h("li", { key: i }, event.name, " ", JSON.stringify(event.value))));
}

function Page() {
  useDefaultRenderTool();
  return [h(CopilotChat, { key: "chat" }), h(Requests, { key: "requests" })];
}

const agent = new HttpAgent({ url: new URLSearchParams(location.search).get("agui") });
createRoot(document.getElementById("page")).render(h(CopilotKitProvider, { selfManagedAgents: { default: agent } }, h(Page)));
