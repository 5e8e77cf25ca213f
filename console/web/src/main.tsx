import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Client } from "./client";
import "./ui/tokens.css";
import "./ui/session.css";
import "./ui/transcript.css";
import "./ui/operator.css";

const client = new Client(document.baseURI);
createRoot(document.getElementById("root")!).render(<App client={client} />);
void client.enter();
