// Made by `npm run api` from api/openapi.yaml. Do not edit.
export interface paths {
    "/api": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Name and version of the wire contract */
        get: operations["getApiInfo"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How the server and its runtime are
         * @description Always 200 while the process serves; `status` is `degraded` when sessions cannot run or nothing can be stored.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether this process should get work */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same as /api/ready */
        get: operations["getReadinessByItsUsualName"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the process lives; needs neither store nor runtime */
        get: operations["getLiveness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Prometheus metrics */
        get: operations["getMetrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/stream": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The event stream (websocket) */
        get: operations["connectEventStream"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rpc": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON-RPC 2.0 over a websocket */
        get: operations["connectRpc"];
        put?: never;
        /**
         * One JSON-RPC 2.0 message or batch, without notifications of the server
         * @description The methods are in `/rpc/openrpc.json`.
         */
        post: operations["callRpc"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/ws": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** JSON-RPC 2.0 over a websocket, where cdev's clients look for it */
        get: operations["connectRpcAsCdev"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rpc/openrpc.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The methods of JSON-RPC as an OpenRPC document */
        get: operations["getOpenRPC"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/asyncapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The frames of the stream as an AsyncAPI document */
        get: operations["getAsyncAPI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document */
        get: operations["getOpenAPI"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This document as a page */
        get: operations["getDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts/{artifactId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an artifact
         * @description What a tool of this server made: its bytes as they were, with their type. The `ETag` is their SHA-256 and never changes; ranges work.
         */
        get: operations["readArtifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/artifacts/{artifactId}/download": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an artifact as a file to be stored
         * @description What a tool of this server made: its bytes as they were, with their type. The `ETag` is their SHA-256 and never changes; ranges work.
         */
        get: operations["downloadArtifact"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List projects by name */
        get: operations["listProjects"];
        put?: never;
        /** Create a project */
        post: operations["createProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{projectId}/rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Change name and working directory
         * @description An omitted `workingDirectory` stays. Another one removes the worker sessions of the project.
         */
        post: operations["renameProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{projectId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Delete an empty project */
        delete: operations["deleteProject"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{projectId}/agent-sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List worker sessions
         * @description `projectId` may be `session:<id>` for the workers of a session outside projects.
         */
        get: operations["listProjectAgentSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{projectId}/chats/move-all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take all sessions out of a project */
        post: operations["moveProjectChats"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{projectId}/chats/delete-all": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Delete all sessions of a project */
        post: operations["deleteProjectChats"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List sessions, newest first */
        get: operations["listSessions"];
        put?: never;
        /**
         * Create a session
         * @description What is not given comes from the stored defaults; the default model counts for the default runtime only. 400 for a `runtime` this server does not have, naming those it has; 503 for one that is away, saying why and what to do.
         */
        post: operations["createSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read a session with its transcript
         * @description Without a query the whole transcript, as codex-manager answers. With one of `limit`, `before`, `after`, `around`, `from`, `count` and `details` a window of it, at a cost that does not grow with the transcript: `thread` comes without turns, the entries in the order of the whole, oldest first, and `window` says where to go on.
         *     A whole transcript that is long may be refused for a moment: 503 `too_many_long_answers` with `Retry-After`. Windows are the better way to read one.
         *     The `ETag` changes with every change of the session or its transcript; with `If-None-Match` an unchanged one is answered 304 without reading the transcript.
         */
        get: operations["readSession"];
        put?: never;
        post?: never;
        /** Delete a session for good */
        delete: operations["deleteSession"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/read": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Note how far you have read
         * @description Up to an entry of the transcript, for who asks alone. It goes forward only: what was read already is answered `unchanged`. `readTo` and `unread` of sessions tell it (`view=console`).
         */
        post: operations["markSessionRead"];
        /**
         * Mark a session as unread
         * @description All of it, for who asks alone.
         */
        delete: operations["markSessionUnread"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Which files the session's agent reads by itself
         * @description Settings and instructions that reach the agent without a message: of its home, of the folder it works in, of the machine. The hash of each is noted when the session begins, so that a later change shows. What is in a file is not told.
         */
        get: operations["readSessionSources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/rename": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give a session a title */
        post: operations["renameSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/archive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Archive a session */
        post: operations["archiveSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/unarchive": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Take a session out of the archive */
        post: operations["unarchiveSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/resume": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Load a session in its runtime
         * @description 400 for `dynamicTools` other than those the session was created with; runtimes take tools at no other time.
         */
        post: operations["resumeSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/project": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put a session into a project */
        post: operations["setSessionProject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/transcript/upsert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write a transcript entry
         * @description Laid over the entry of the same `messageId`. A finished entry does not go back to `streaming`.
         */
        post: operations["upsertSessionTranscriptEntry"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/transcript/upserts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Write many transcript entries
         * @description As if each were sent alone, one after the other, but all of them or none: an entry that does not follow the rules refuses the whole request, and
         *     one the server is killed in is completed at its next start. Of many entries, readers may see the first before the last. The path of an issue
         *     begins with `entries` and its index. Each entry has a frame of its own on the stream. The limit of a body, 1 MiB, holds.
         *     Not part of codex-manager's contract.
         */
        post: operations["upsertSessionTranscriptEntries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a message
         * @description During a running turn it is steered into that turn. Options given become the controls of the session, except `effort`, which counts for a turn that the message starts. Images are data URLs or uploads of the session; the transcript names them without their data. 400 for `dynamicTools` other than those the session was created with; runtimes take tools at no other time.
         */
        post: operations["sendSessionMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/interrupt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Stop the running turn and wait for its end
         * @description The background work that the turn began ends with it, unless `keepBackground` is true. What earlier turns began goes on.
         */
        post: operations["interruptSessionTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/turns/{turnId}/retry": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Try a turn again that was cut off
         * @description Sends what the turn was asked once more, as a new turn. Only for the last turn of a session, when the end of its runtime or of the server cut it off and no tool has run in it: `retryableTurnId` of the session names it. Nothing is tried again unasked.
         */
        post: operations["retryTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/turns/{turnId}/steer": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Add input to a running turn */
        post: operations["steerTurn"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/fork": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Fork a session */
        post: operations["forkSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/compact": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Compact the context */
        post: operations["compactSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Drop the last turns
         * @description Works on runtimes that can only revert, too. The turns leave the transcript; the event session_rolled_back tells followers which.
         */
        post: operations["rollbackSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/background-terminals/clean": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** End background terminals */
        post: operations["cleanBackgroundTerminals"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/background": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List background work
         * @description What an agent left running when a turn ended, as its runtime lists it now. `activity.background` of a session shows the same.
         */
        get: operations["listBackgroundTasks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/background/{taskId}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End background work
         * @description Ends one task and answers with what still runs. Its end begins no turn. 404 `background_not_found`: it is over. 409 `unsupported_by_runtime`: the runtime cannot end this one alone; the message says what it can do.
         */
        post: operations["stopBackgroundTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/review": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Start a review */
        post: operations["startReview"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what waits for a person in all sessions
         * @description Approvals, questions and tool calls, the oldest first; those of workers' sessions, which nobody is asked about, are left out.
         */
        get: operations["listRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pending approvals
         * @description Empty for an unknown session.
         */
        get: operations["listSessionApprovals"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/tool-input": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pending questions
         * @description Empty for an unknown session.
         */
        get: operations["listSessionToolInput"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/tool-calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List pending dynamic tool calls
         * @description Empty for an unknown session.
         */
        get: operations["listSessionToolCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/approvals/{approvalId}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Decide an approval
         * @description Exactly one decision wins. When several servers share a database, any of them takes it: 200 says that it is stored and announced. The
         *     session's own node passes it on to the runtime that asked, a node that is down as soon as it is back; when that runtime is gone by
         *     then, the request becomes `expired` and its turn `interrupted`.
         */
        post: operations["decideApproval"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tool-input/{requestId}/decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer questions
         * @description Any node takes it, as a decision of an approval.
         */
        post: operations["decideToolInput"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tool-calls/{requestId}/response": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a dynamic tool call
         * @description Any node takes it, as a decision of an approval.
         */
        post: operations["respondToolCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/session-controls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read controls and defaults */
        get: operations["getSessionControls"];
        put?: never;
        /**
         * Change controls
         * @description A change is told by an entry in the transcript of the session.
         */
        post: operations["applySessionControls"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/approval-policy": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Change the approval policy */
        post: operations["setSessionApprovalPolicy"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read settings, or one of them */
        get: operations["getSessionSettings"];
        put?: never;
        /**
         * Write settings
         * @description Either `key` and `value`, or `settings` with a `mode`. A scope has at most 256 settings, whose names and values take 128 KiB together; an edit that would leave more is 400 and changes nothing.
         */
        post: operations["setSessionSettings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/settings/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Remove a setting */
        delete: operations["deleteSessionSetting"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/projects/{projectId}/orchestrator/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List jobs of a project
         * @description Empty for an unknown project.
         */
        get: operations["listProjectOrchestratorJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/orchestrator/jobs/{jobId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a job */
        get: operations["getOrchestratorJob"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/orchestrator/jobs/{jobId}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel a job
         * @description A running job is interrupted and canceled soon after.
         */
        post: operations["cancelOrchestratorJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/uploads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Upload a picture for messages of the session
         * @description The body is the picture itself (PNG, JPEG, GIF or WebP, as its content says), 5 MiB at most. `image` of the answer names it among the `images` of messages, whose uploads have 20 MiB at most together. It is kept, once for equal content, until the session is deleted.
         */
        post: operations["uploadPicture"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/images/{imageId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read an image of the session's transcript
         * @description The transcript names it in a line `[image] /api/sessions/{sessionId}/images/{imageId}`. It is kept until the session is deleted, and never changes.
         */
        get: operations["readImage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/queue": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the messages that wait for the session's turn to end */
        get: operations["listQueuedMessages"];
        put?: never;
        /** Have a message sent when the turns before it are over */
        post: operations["queueMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/queue/{messageId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /** Take a waiting message out */
        delete: operations["dropQueuedMessage"];
        options?: never;
        head?: never;
        /**
         * Give a waiting message another text
         * @description One that is held waits again.
         */
        patch: operations["editQueuedMessage"];
        trace?: never;
    };
    "/api/sessions/{sessionId}/queue/{messageId}/move": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Put a waiting message before another one, or behind all */
        post: operations["moveQueuedMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/queue/{messageId}/send": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Send a waiting message at once
         * @description Into the turn that runs where the runtime steers (capability `steer`); elsewhere it is put first, the running turn is interrupted, and it is sent as a turn of its own. One that is held is sent again.
         */
        post: operations["sendQueuedMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List jobs of all projects, the youngest first */
        get: operations["listJobs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancel many jobs
         * @description Cancels the jobs of the filter that are not over, the oldest 200 first. At least one member is needed.
         */
        post: operations["cancelJobs"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/jobs/{jobId}/run-again": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Enqueue a job that ended once more
         * @description A new job with what the old one was given. While one of its dedupe key is queued or runs, that one is the answer.
         */
        post: operations["runJobAgain"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List what happened
         * @description The journal, the newest events first; with `after` the oldest first. Events of workers' sessions come only with `session`.
         */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/events/{pos}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read an event, whatever its length */
        get: operations["readEvent"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Add up what sessions used
         * @description In tokens, as runtimes told, by day (UTC), project, session or runtime. Sessions that were deleted since count; days older than a year are not kept.
         */
        get: operations["readUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Find sessions by their titles and by what their transcripts say
         * @description All words of `q` are to be found in one title or entry, without case and accents; the last may be the beginning of one. Signs between words do not count. The first 256 KiB of an entry are looked through; workers' sessions and turns that were taken back are not. What was stored before the request is found, unless `behind` is true: then the server is still taking in what there is. Of a limited token's projects only.
         */
        get: operations["search"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runtimes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the server's runtimes */
        get: operations["listRuntimes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runtimes/{runtime}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read a runtime with its models */
        get: operations["readRuntime"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/runtimes/{runtime}/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin a login that works without a screen, or end it
         * @description Without a body a login begins: a person opens `url` on any machine and types `code` in there; the runtime notices the end by itself. With `expectsCode` the page shows a code in the end: send it back here. With `apiKey` the runtime is given the key of a model provider, which the server stores nowhere. `auth.logins` says which of these a runtime takes.
         */
        post: operations["loginRuntime"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the runtime can do */
        get: operations["getCapabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List models */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/features/experimental": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List experimental features */
        get: operations["listExperimentalFeatures"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/collaboration/modes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List collaboration modes */
        get: operations["listCollaborationModes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/apps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List apps */
        get: operations["listApps"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/skills": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List skills */
        get: operations["listSkills"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/skills/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Switch a skill on or off */
        post: operations["writeSkillConfig"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/skills/remote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read remote skills */
        get: operations["readRemoteSkills"];
        put?: never;
        /** Fetch a remote skill */
        post: operations["writeRemoteSkills"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/mcp/servers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List MCP servers */
        get: operations["listMcpServers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/mcp/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Reload MCP servers */
        post: operations["reloadMcpConfig"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/mcp/servers/{serverName}/oauth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin the login of an MCP server */
        post: operations["startMcpOauthLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/commands/exec": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Run a command in the sandbox */
        post: operations["executeCommand"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Send feedback */
        post: operations["uploadFeedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the configuration */
        get: operations["readConfig"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/requirements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read configuration requirements */
        get: operations["readConfigRequirements"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/value": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write a configuration value */
        post: operations["writeConfigValue"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/config/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write configuration values together */
        post: operations["writeConfigBatch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/account": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read the account */
        get: operations["readAccount"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/account/rate-limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Read rate limits */
        get: operations["readAccountRateLimits"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/account/login/start": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Begin a login */
        post: operations["startAccountLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/account/login/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Give up a login */
        post: operations["cancelAccountLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/account/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Log out */
        post: operations["logoutAccount"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log a browser in
         * @description The answer sets a cookie that stands for the token in requests of this server's own pages, sockets too: `HttpOnly`, `SameSite=Strict`, `Secure` where the browser talks TLS. It counts as long as the token does, and is kept until the `exp` of a signed one. A token that is too long for a cookie (3 KB) is 400 `token_too_long`.
         */
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/links": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Make a one-time link to the console
         * @description It logs one browser in as who asks, once and within five minutes, and hands the token on that this request shows. None counts after a restart. `harness open` makes one.
         */
        post: operations["createLoginLink"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/methods": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List the OpenID Connect providers to log in at */
        get: operations["getLoginMethods"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/oidc/{provider}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Send a browser to a provider to log in
         * @description Authorization code with PKCE. A cookie for ten minutes binds the login to the browser.
         */
        get: operations["beginLogin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/oidc/{provider}/callback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Let a browser in that comes back from a provider
         * @description Sets the cookie of a login and goes on to the console. A refusal is a page for browsers.
         */
        get: operations["finishLogin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/oidc/{provider}/backchannel-logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End the logins that have ended at a provider
         * @description OpenID Connect Back-Channel Logout 1.0, for the provider. What is open by these logins is closed.
         */
        post: operations["endLogins"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/oidc/{provider}/device": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Begin a login that is confirmed on another device
         * @description RFC 8628. The person opens `verificationUri` and enters `userCode`; then `deviceCode` is exchanged for the login.
         */
        post: operations["beginDeviceLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/login/oidc/{provider}/device/token": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ask for a login that is confirmed on another device
         * @description The secret of the login is in this answer alone. It is shown as any token is.
         */
        post: operations["finishDeviceLogin"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Log a browser out
         * @description Takes its cookie away, and ends a login at a provider for good. Any other token stays what it is.
         */
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Who asks, and what that one may do */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/people": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List who logged in at a provider, by actor */
        get: operations["listPeople"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the named access tokens
         * @description All there are and were, the oldest first, without their secrets.
         */
        get: operations["listTokens"];
        put?: never;
        /**
         * Create a named access token
         * @description `secret` is told this once; the server keeps its hash alone.
         */
        post: operations["createToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/tokens/{tokenId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a token
         * @description For good and at once; what is open by it is closed. Again it changes nothing.
         */
        delete: operations["revokeToken"];
        options?: never;
        head?: never;
        /**
         * Give a token another role
         * @description What is open by it (sockets, streams of events) is closed.
         */
        patch: operations["changeToken"];
        trace?: never;
    };
    "/api/server/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Read what the server runs with
         * @description Every setting of the server that answers, in the order of the documentation, as `harness config print` shows it: secrets are `[redacted]`. They are changed where the server is started, and count from then on. `defaults` are what new sessions run with.
         */
        get: operations["readServerSettings"];
        put?: never;
        /**
         * Change what new sessions run with
         * @description The audit log tells who changed it (`default_controls.changed`).
         */
        post: operations["setServerDefaults"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/push": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your browsers that are told
         * @description Of whoever asks, the oldest first. `publicKey` is what a browser subscribes with (`applicationServerKey`). 404 where `HARNESS_NOTIFY_PUSH_SERVICES` is `none`.
         */
        get: operations["listPushSubscriptions"];
        put?: never;
        /**
         * Have a browser told
         * @description Web Push (RFC 8030): the browser is told what webhooks are, encrypted for it alone, of what who asks may see, and as long as that access counts. Again it is the same subscription, renewed; asked by somebody else it is theirs. Of 21 browsers of one access the oldest is told no more.
         */
        post: operations["subscribeToPush"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/push/{subscriptionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Tell a browser no more
         * @description One of who asks. What waits for it is dropped.
         */
        delete: operations["unsubscribeFromPush"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/extensions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** List loaded extensions */
        get: operations["listAgentExtensions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/agents/extensions/reload": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Load extensions again
         * @description All of them or none.
         */
        post: operations["reloadAgentExtensions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/suggested-request/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask for a suggestion */
        post: operations["enqueueSuggestedSessionRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/suggested-request": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Ask for a suggestion and wait for it */
        post: operations["suggestSessionRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/sessions/{sessionId}/suggested-request/upsert": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Write the state of a suggestion */
        post: operations["upsertSuggestedSessionRequest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Name, version and runtimes of the task API */
        get: operations["getTaskApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/health": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How the runtimes are
         * @description The members of the runtime that is named, or of the default one and, in `runtimes`, of all. One that cannot be asked is `ok: false` with an `error`.
         */
        get: operations["getTaskHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/capabilities": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the runtimes can do */
        get: operations["getTaskCapabilities"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/auth/status": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the runtimes find credentials */
        get: operations["getTaskAuth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Sessions, newest first */
        get: operations["listTaskSessions"];
        put?: never;
        /** Open a session */
        post: operations["createTaskSession"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A session */
        get: operations["getTaskSession"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The events of a session, as a page or as a stream
         * @description With `Accept: text/event-stream` or `stream=1` server-sent events: `ready`, then `id` and `data` of each event there is and will be, `gap` for events that are not kept any more, and `overflow` before the end of a stream whose reader fell behind. `Last-Event-ID` goes on where a stream ended; a query goes before it.
         */
        get: operations["listTaskEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/support-bundle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All that is known of a session, without secrets, as one file
         * @description A `.tar.gz`: health, capabilities, versions and configuration of the server, MCP, the events, the records they are derived from, the last lines of the agent, every attempt of every tool call, the audit log, artifacts. `harness replay FILE` plays it again. Asks for the role of an operator.
         */
        get: operations["getSupportBundle"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The tasks of a session, newest first */
        get: operations["listTasks"];
        put?: never;
        /** Ask for a task; it runs when those before it are over */
        post: operations["createTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/tasks/{taskId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A task */
        get: operations["getTask"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/tasks/{taskId}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Stop a task */
        post: operations["stopTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/background/{taskId}/stop": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * End background work
         * @description `taskId` is the id of one of `activity.background` of the session. 404 `background_not_found`: it is over.
         */
        post: operations["stopSessionBackground"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/tool-calls/{toolCallId}/approve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Let a tool call run
         * @description `attempt` and `input_hash` are those of the event `tool.call.requested`. With others it is answered 409 with those that are asked about, and the call goes on waiting.
         */
        post: operations["approveToolCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{sessionId}/tool-calls/{toolCallId}/deny": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Refuse a tool call
         * @description `attempt` and `input_hash` are those of the event `tool.call.requested`. With others it is answered 409 with those that are asked about, and the call goes on waiting.
         */
        post: operations["denyToolCall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        TaskObject: {
            [key: string]: unknown;
        };
        TaskSession: {
            session_id: string;
            runtime: string;
            runtime_session_id: string | null;
            /** Format: date-time */
            created_at: string;
            cwd?: string;
            title?: string;
            model?: string | null;
            /**
             * @description Of its tasks that name none; null where the controls of the session hold.
             * @enum {string|null}
             */
            permission_mode?: "ask" | "auto" | "yolo" | null;
            /**
             * @description Where its runtime is hosted: in a process of its own.
             * @enum {string}
             */
            isolation_mode?: "subprocess";
            activity?: components["schemas"]["SessionActivity"];
            /**
             * @description There when the agent has no tools of its own.
             * @constant
             */
            native_tools?: "off";
            /**
             * @description How far its runtime shares logins and state.
             * @enum {string}
             */
            isolation_level?: "shared" | "namespaced" | "ephemeral";
            /** @description Whose logins and state its runtime uses. */
            credential_namespace?: string;
        };
        TaskSessions: {
            sessions: components["schemas"]["TaskSession"][];
            next_after: string | null;
        };
        /** @description Members may be spelled in camelCase, too. What is not supported is refused with 400 unless it has its default. */
        TaskSessionCreate: {
            runtime?: string;
            cwd?: string;
            model?: string;
            /** @enum {string} */
            permission_mode?: "ask" | "auto" | "yolo";
            /** @description That no person is there: what the agent asks is declined at once. */
            non_interactive?: boolean;
            /**
             * @description Whether the agent has tools of its own, `off` without it; `off` is 400 `unsupported_control` where its runtime cannot be told so (`nativeToolsOff` of its capabilities).
             * @enum {string}
             */
            native_tools?: "on" | "off";
            /**
             * @description How much the agent may read by itself; without it the least that its runtime can be held to (`implicitSources` of its capabilities).
             * @enum {string}
             */
            implicit_sources?: "all" | "home" | "none";
            /** @description Lets tasks run although a file that the agent reads by itself has changed since the session began; else they fail with `SOURCES_CHANGED`. */
            allow_changed_sources?: boolean;
            /** @description The namespace of this server; another one is 503 `namespace_unavailable`. */
            credential_namespace?: string;
            /**
             * @description The level of the runtime here; another one is 400 `not_supported`.
             * @enum {string}
             */
            isolation_level?: "shared" | "namespaced" | "ephemeral";
            /** @description Is in `trace` of the events that the request causes, as the next two are. */
            client_id?: string;
            /** @description Without it the X-Request-Id of the HTTP request. */
            request_id?: string;
            user_id?: string;
            /** @constant */
            isolation_mode?: "subprocess";
            env?: Record<string, never>;
            runtime_config?: Record<string, never>;
        };
        TaskCreate: {
            messages: {
                /** @enum {string} */
                role: "user" | "system" | "assistant" | "tool";
                content: unknown;
            }[];
            task_id?: string;
            /** @enum {string} */
            permission_mode?: "ask" | "auto" | "yolo";
            /** @description As of the session, for this task. */
            allow_changed_sources?: boolean;
            client_id?: string;
            request_id?: string;
            user_id?: string;
        };
        TaskAccepted: {
            session_id: string;
            task_id: string;
            /** @enum {string} */
            status: "started" | "queued";
            ahead?: number;
        };
        Task: {
            session_id: string;
            task_id: string;
            /** @enum {string} */
            status: "queued" | "running" | "completed" | "failed" | "stopped";
            last_seq: number | null;
            turn_id?: string | null;
            created_at?: string | null;
            started_at?: string | null;
            ended_at?: string | null;
            reason?: string;
            failure?: {
                code: string;
                message: string;
                retryable: boolean;
                runtime: string;
                recovery?: string;
                raw?: unknown;
            };
        };
        TaskList: {
            tasks: components["schemas"]["Task"][];
        };
        TaskStop: {
            reason?: string;
            client_id?: string;
            request_id?: string;
            user_id?: string;
        };
        TaskStopped: {
            /** @constant */
            ok: true;
            task_id: string;
            status: string;
            already?: boolean;
        };
        TaskDecision: {
            attempt: number;
            input_hash: string;
            reason?: string;
            /** @description Answers to questions of the agent, by their ids. */
            answers?: Record<string, never>;
            /** @description What a tool of the client came to. */
            result?: string;
            client_id?: string;
            request_id?: string;
            user_id?: string;
        };
        TaskDecided: {
            /** @constant */
            ok: true;
            tool_call_id: string;
            reason_reaches?: components["schemas"]["ReasonReaches"];
        };
        /**
         * @description The runtime takes no reason with a denial. The agent is told with the next message. Absent when it was told at once.
         * @constant
         */
        ReasonReaches: "next_message";
        TaskEvents: {
            events: components["schemas"]["TaskEvent"][];
            next_seq: number;
            /** @description There when older events are not kept any more. */
            oldest_seq?: number;
        };
        TaskEvent: {
            /** @constant */
            schema_version: 1;
            seq: number;
            /** Format: date-time */
            time: string;
            type: string;
            trace: {
                session_id: string;
                task_id?: string;
                turn_id?: string;
                trace_id?: string;
                span_id?: string;
                client_id?: string;
                request_id?: string;
                user_id?: string;
            };
            runtime: {
                name: string;
                model?: string;
                runtime_session_id?: string;
            };
            payload: {
                [key: string]: unknown;
            };
        };
        TaskRefusal: {
            error: string;
            message?: string;
        } & {
            [key: string]: unknown;
        };
        Readiness: {
            /** @enum {string} */
            status: "ready" | "not_ready";
            /** @description The first of what is missing, while not ready. */
            reason?: string;
            /** @description Of the server, while ready. */
            version?: string;
            store: {
                ready: boolean;
                reason?: string;
            };
            /** @description What programs of the server's own machine need. */
            access?: {
                tokenNeeded: boolean;
                /** @description Why, and how to get in, where this machine is not trusted. */
                reason?: string;
            };
            runtimes: {
                name: string;
                /** @enum {string} */
                state: "starting" | "ready" | "unavailable" | "stopped" | "unresponsive";
                reason?: string;
            }[];
        };
        /** @description A number, or its decimal digits as a text. */
        WholeNumber: number | string;
        /** @description A data URL, or an upload of the session. */
        ImageURL: string;
        Upload: {
            /** @constant */
            status: "ok";
            sessionId: string;
            /** @description What names it among the images of a message. */
            image: string;
            name: string;
            /** @enum {string} */
            contentType: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
            /** @description Bytes. */
            size: number;
            /** @description Of its content. */
            hash: string;
        };
        /**
         * @description When the agent asks a person. `on-failure` is taken on every runtime version; one that dropped it runs `on-request`.
         * @enum {string}
         */
        ApprovalPolicy: "untrusted" | "on-failure" | "on-request" | "never";
        /** @enum {string} */
        NetworkAccess: "restricted" | "enabled";
        /** @enum {string} */
        FilesystemSandbox: "read-only" | "workspace-write" | "danger-full-access";
        /** @enum {string} */
        Effort: "none" | "minimal" | "low" | "medium" | "high" | "xhigh";
        /**
         * @description The session itself, or what new sessions start with.
         * @enum {string}
         */
        Scope: "session" | "default";
        /** @description Free-form values by key. */
        Settings: {
            [key: string]: unknown;
        };
        /** @description What a session's turns run with. `model` null is the runtime's default. */
        Controls: {
            model: string | null;
            approvalPolicy: components["schemas"]["ApprovalPolicy"];
            networkAccess: components["schemas"]["NetworkAccess"];
            filesystemSandbox: components["schemas"]["FilesystemSandbox"];
            settings: components["schemas"]["Settings"];
            /**
             * @description There while nobody is: what the agent asks is declined at once, by `mode:nonInteractive`. Chosen when the session is made.
             * @constant
             */
            nonInteractive?: true;
            /**
             * @description There when the agent has no tools of its own. Chosen when the session is made.
             * @constant
             */
            nativeTools?: "off";
            /** @description There when the levels come to something else than was sent: with `danger-full-access` nothing restricts the network. */
            effective?: {
                networkAccess: components["schemas"]["NetworkAccess"];
            };
            /**
             * @description There while the session accepts edits: what asks to change files its sandbox allows is approved at once, by `mode:acceptEdits`. Set over JSON-RPC (`permission_mode`), and over once the approval policy is another than `on-request`.
             * @constant
             */
            acceptEdits?: true;
        };
        /** @description Omitted `settings` stay as they are; `{}` clears them. At most 256, of 128 KiB together. */
        ControlsWish: {
            model: string | null;
            approvalPolicy: components["schemas"]["ApprovalPolicy"];
            networkAccess: components["schemas"]["NetworkAccess"];
            filesystemSandbox: components["schemas"]["FilesystemSandbox"];
            settings?: components["schemas"]["Settings"];
        };
        BackgroundTask: {
            id: string;
            /** @enum {string} */
            kind: "command" | "agent" | "monitor";
            /** @description What runs: the command, or what an agent works at. */
            command: string;
            /** @description The turn that began it; empty when that is not known. */
            turnId: string;
            /** Format: date-time */
            startedAt: string;
            /** @description false: it ends only together with all background work of the session. */
            canEnd: boolean;
        };
        /** @description The running turn, and the work that goes on outside the turns. Background work does not make a session `running`. */
        SessionActivity: {
            turn: string | null;
            background: components["schemas"]["BackgroundTask"][];
        };
        Background: {
            /** @constant */
            status: "ok";
            sessionId: string;
            background: components["schemas"]["BackgroundTask"][];
        };
        Session: {
            sessionId: string;
            title: string;
            materialized: boolean;
            modelProvider: string;
            approvalPolicy: components["schemas"]["ApprovalPolicy"];
            sessionControls: components["schemas"]["Controls"];
            /** @description Seconds since 1970. */
            createdAt: number;
            /** @description Seconds since 1970. */
            updatedAt: number;
            cwd: string;
            source: string;
            projectId: string | null;
            /** @description The runtime that drives it. */
            runtime?: string;
            /**
             * @description running: a turn runs; waiting: it waits for a person; error: none runs, and the last one failed; unresponsive: a turn runs, and its runtime does not answer.
             * @enum {string}
             */
            state?: "idle" | "running" | "waiting" | "error" | "unresponsive";
            activity?: components["schemas"]["SessionActivity"];
            activeTurnId?: string | null;
            /** @description How many interactive requests wait for a person. */
            pendingCount?: number;
            /** @description The last turn, when it was cut off before any tool ran: `POST .../turns/{turnId}/retry` tries it again. Absent otherwise. */
            retryableTurnId?: string;
            /** @description Why the last turn failed, or why the running one tries again to reach its model; null else. */
            lastError?: null | {
                turnId: string;
                message: string;
            };
            /** @description Only with `view=console`: the last plan its runtime told, of the turn `turnId`; null for none. */
            plan?: {
                turnId?: string | null;
                explanation?: string | null;
                plan?: {
                    step?: string;
                    status?: string;
                }[];
            } | null;
            /** @description Only with `view=console`: the tokens its runtime says it used, `total` and with the `last` request to the model, `modelContextWindow`, and the turn in which it said so; null for none. */
            usage?: {
                turnId?: string;
                total?: {
                    [key: string]: number;
                };
                last?: {
                    [key: string]: number;
                };
                modelContextWindow?: number | null;
            } | null;
            /** @description Only with `view=console`: when its last entry was made, in seconds since 1970; null when it has none. */
            lastEntryAt?: number | null;
            /** @description Only with `view=console`: the entry up to which who asks has read it; null for none. */
            readTo?: string | null;
            /** @description Only with `view=console`: there is something behind that. One that was never opened is unread when it is younger than the first one that was. */
            unread?: boolean;
        };
        RuntimeStatus: {
            name: string;
            /** @description Sessions whose creator names no runtime get it. */
            default: boolean;
            /** @enum {string} */
            state: "starting" | "ready" | "unavailable" | "stopped" | "unresponsive";
            /** @description Why it is not ready and what to do about it. */
            reason?: string;
            version?: string;
            /** @description One, or one for each session in use. */
            processes: {
                pid: number;
                state: string;
                /** Format: date-time */
                startedAt?: string;
                /** @description Whose it is; not in health. */
                sessionId?: string;
                shim?: {
                    pid: number;
                    version: string;
                    servers: number;
                };
            }[];
            /** @description Sessions that wait for a process because there are as many as there may be. */
            waiting: number;
        };
        /**
         * @description What `HARNESS_RUNTIME_STATUS` says; else `preview` for agents of `HARNESS_ACP_AGENTS`, and `active`. `disabled` without its program.
         * @enum {string}
         */
        RuntimeOffered: "active" | "preview" | "deprecated" | "disabled";
        /** @description A runtime of this server, and what a person needs to use it. It names no secret. */
        Runtime: components["schemas"]["RuntimeStatus"] & {
            status: components["schemas"]["RuntimeOffered"];
            capabilities: components["schemas"]["Capabilities"];
            /** @description What it has to do now, and the most it may have; a most of 0 is no bound. */
            limits: {
                /** @description Turns that run. */
                turns: number;
                /** @description `HARNESS_RUNTIME_MAX_TURNS`; a message that would begin one more waits. */
                maxTurns: number;
                /** @description Messages and new sessions on their way to it, those that wait among them. */
                messages: number;
                /** @description `HARNESS_RUNTIME_MAX_MESSAGES`; one more is refused with 429. */
                maxMessages: number;
                /** @description `HARNESS_SESSION_MAX_MESSAGES`; one more of a session is refused with 429. */
                maxSessionMessages: number;
                /** @description Messages that wait for a turn of another session to end. */
                waiting: number;
            };
            auth: {
                /**
                 * @description found: there are credentials, which nobody tried.
                 * @enum {string}
                 */
                state: "found" | "missing" | "unknown";
                /** @description The kinds that were found. cloud: what a cloud needs in which its models are (`providers`). */
                credentials: ("apiKey" | "login" | "cloud")[];
                /** @description How to log in. */
                remedy?: string;
                /** @description A login works from here: `POST /api/runtimes/{runtime}/login`. */
                login: boolean;
                /** @description In which ways: at a page, with the key of a model provider. `remedy` says how else. */
                logins: ("page" | "key")[];
            };
            /** @description The clouds in which it can reach its models. Variables are named, and no value of theirs. Absent when there are none. */
            providers?: {
                /** @description bedrock, vertex, foundry or azure. */
                name: string;
                title: string;
                /** @description The runtime uses it. */
                chosen: boolean;
                /** @description How it is chosen. */
                chooseWith: string;
                /** @description What it does not work without. */
                needs: {
                    what: string;
                    /** @description The ways to give it: variables joined by +, or a file below $HOME. */
                    anyOf: string[];
                    /** @description It may come from the machine, where nobody can look it up. */
                    ambient?: boolean;
                }[];
                /** @description Which needs were not found. */
                missing: string[];
                /** @description Variables of the server's environment that the runtime gets. */
                passed: string[];
                /** @description Variables of the cloud in the server's environment that the runtime does not get. */
                heldBack: {
                    name: string;
                    reason: string;
                }[];
                /** @description What to do when it is chosen and something is missing. */
                remedy?: string;
            }[];
            install?: {
                /** @description Versions it was tested with, oldest first. */
                tested: string[];
                /** @description The oldest version it works with. */
                from?: string;
                /** @description Installs the agent. */
                command?: string;
                /** @description The setting that says where the agent is. */
                setting?: string;
                page?: string;
            };
        };
        Model: {
            id: string;
            name: string;
            description?: string;
            default: boolean;
            efforts: string[];
            defaultEffort?: string;
            /** @description It takes images. */
            images: boolean;
        };
        /** @description What the session's runtime can do. What it cannot is refused: an operation with 409 `unsupported_by_runtime`, a level that is not in a list with 400 `unsupported_control`. */
        Capabilities: {
            /** @description A message to a busy session goes into the running turn; else it waits for its end. */
            steer?: boolean;
            rollback?: boolean;
            fork?: boolean;
            compact?: boolean;
            review?: boolean;
            archive?: boolean;
            images?: boolean;
            dynamicTools?: boolean;
            /** @description The reason of a refusal reaches the model at once; else with the next message. */
            denyReason?: boolean;
            /** @description What of the agent's own runs without a question under the approval policy untrusted. */
            unasked?: string[];
            /** @description An approval can hold for the whole session. */
            approveForSession?: boolean;
            /** @description It tells of its plan. */
            plan?: boolean;
            /** @description It tells how many tokens it used. */
            usage?: boolean;
            /** @description It may hand work on to agents of its own. */
            subagents?: boolean;
            /** @description It may begin turns nobody asked for. */
            selfStartedTurns?: boolean;
            /** @description It may run, and ask about, several tools at once. */
            parallelToolCalls?: boolean;
            /** @description Its built-in tools can be taken away. */
            nativeToolsOff?: boolean;
            /**
             * @description How it reaches tools of a client or of this server.
             * @enum {string}
             */
            ownedTools?: "none" | "dynamic" | "mcp-http" | "control-channel";
            /** @enum {string} */
            processPer?: "runtime" | "thread";
            /** @description What the agent can be held to of what it reads by itself, what it does unless told otherwise first; none where nobody knows. */
            implicitSources?: ("all" | "home" | "none")[];
            sandboxes?: string[];
            approvalPolicies?: string[];
            networkAccess?: string[];
        } & {
            [key: string]: unknown;
        };
        /** @description The runtime's own description of the conversation, as of now. */
        Thread: {
            [key: string]: unknown;
        } | null;
        /** @description The position on the event stream at which the answer is true. A stream resumed with `after` set to it goes on from exactly there. */
        StreamPosition: number;
        TranscriptEntry: {
            messageId: string;
            turnId: string;
            /** @enum {string} */
            role: "user" | "assistant" | "system";
            type: string;
            content: string;
            /** @description JSON text of what the entry is about. */
            details?: string | null;
            /** @description Only with `details=omit`: how long they are. */
            detailsBytes?: number;
            /** @description Milliseconds since 1970. */
            startedAt?: number;
            /** @description Milliseconds since 1970. */
            completedAt?: number;
            status: components["schemas"]["EntryStatus"];
        };
        TranscriptUpsert: {
            messageId: string;
            turnId: string;
            /** @enum {string} */
            role: "user" | "assistant" | "system";
            type: string;
            content: string;
            details?: string | null;
            startedAt?: number;
            completedAt?: number;
            status: components["schemas"]["EntryStatus"];
        };
        /** @enum {string} */
        EntryStatus: "streaming" | "complete" | "canceled" | "error";
        /** @enum {string} */
        TokenRole: "viewer" | "ci" | "operator" | "admin";
        PushSubscription: {
            id: string;
            /** @description The push service's host. */
            service: string;
            createdAt: string;
        };
        Token: {
            id: string;
            name: string;
            role: components["schemas"]["TokenRole"];
            /** @enum {string} */
            state: "active" | "expired" | "revoked";
            /** Format: date-time */
            createdAt: string;
            createdBy: string;
            /** Format: date-time */
            expiresAt: string | null;
            /** Format: date-time */
            revokedAt: string | null;
            /** @description Ids of the projects it is limited to; absent for no limit. */
            projects?: string[];
        };
        Project: {
            projectId: string;
            name: string;
            workingDirectory: string | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        DynamicTool: {
            name: string;
            description: string;
            /** @description JSON Schema of the arguments. */
            inputSchema: {
                [key: string]: unknown;
            };
        };
        PendingRequest: {
            method: string;
            threadId: string;
            turnId: string | null;
            itemId: string | null;
            summary: string;
            /** @description The runtime's request. */
            details: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            createdAt: string;
            /** @constant */
            status: "pending";
        };
        Approval: components["schemas"]["PendingRequest"] & {
            /** @description Never used twice. */
            approvalId: string;
            /** @description The decisions the runtime offers, in its words. Missing when it offers none in particular. */
            availableDecisions?: unknown[];
        };
        ToolInput: components["schemas"]["PendingRequest"] & {
            requestId: string;
            /** @description The questions, in the words of the runtime. `multiple` is true for one that takes several answers, `optional` for one that needs none. */
            questions: {
                [key: string]: unknown;
            }[];
        };
        ToolCall: components["schemas"]["PendingRequest"] & {
            requestId: string;
            callId: string | null;
            tool: string;
            arguments: unknown;
        };
        /** @enum {string} */
        Decision: "accept" | "decline" | "cancel";
        /** @description A person's reason, kept with the decision and passed on where the runtime has a place for it. */
        Reason: string;
        MessageQueue: {
            /** @enum {unknown} */
            status: "ok" | "accepted";
            sessionId: string;
            /** @description The message that was added. */
            id?: string;
            /** @description What waits, in the order it will be sent. */
            data: components["schemas"]["QueuedMessage"][];
        };
        QueuedMessage: {
            id: string;
            text: string;
            /** @description How many it has. */
            images: number;
            /**
             * @description held: it waits for a person, and those behind it wait for it.
             * @enum {string}
             */
            state: "queued" | "sending" | "held";
            /** @description Why it is held. */
            error: string | null;
            createdAt: string;
        };
        Event: {
            pos: components["schemas"]["StreamPosition"];
            /** @description Its number within the session. */
            seq: number;
            time: string;
            sessionId: string | null;
            turnId: string | null;
            itemId: string | null;
            /** @description The method of what a runtime said, else what happened here. */
            type: string;
            /** @description The runtime or the part of the server that told it. */
            source: string;
            /** @description Who caused it. */
            actor: string | null;
            /** @description How long the payload is. */
            bytes: number;
            /** @description As stored; null in lists when it is longer than 16 KiB. */
            payload: unknown;
        };
        SearchHit: {
            sessionId: string;
            /** @description The session's. */
            title: string;
            /** @description The `messageId` of the entry, null when the title was found. */
            entryId: string | null;
            turnId: string | null;
            role: string | null;
            type: string | null;
            /** Format: date-time */
            time: string;
            /** @description Plain text, a part of the entry or title. */
            snippet: string;
            /** @description What of the snippet was looked for, in UTF-16 units: from start on, up to before end. */
            marks: {
                start: number;
                end: number;
            }[];
        };
        Usage: {
            /** @description The day, project (`none`), session or runtime; absent in the total. */
            key?: string;
            /** @description Requests to the model, as far as the runtime told of them. */
            requests: number;
            totalTokens: number;
            inputTokens: number;
            cachedInputTokens: number;
            outputTokens: number;
            reasoningOutputTokens: number;
        };
        Job: {
            id: string;
            type: string;
            version: number;
            /** @description The owner: a project, or `session:<id>`. */
            projectId: string;
            sourceSessionId: string | null;
            /** @enum {string} */
            priority: "interactive" | "background";
            state: components["schemas"]["JobState"];
            dedupeKey: string | null;
            payload: unknown;
            result: unknown;
            error: string | null;
            attempts: number;
            maxAttempts: number;
            createdAt: string;
            startedAt: string | null;
            completedAt: string | null;
            cancelRequestedAt: string | null;
            nextAttemptAt: string | null;
            lastAttemptAt: string | null;
            /** @description Where the job works; null unless it is running. */
            runningContext: {
                threadId: string | null;
                turnId: string | null;
            };
        };
        /** @enum {string} */
        JobState: "queued" | "running" | "completed" | "failed" | "canceled";
        AgentSession: {
            agent: string;
            sessionId: string;
            /** @constant */
            systemOwned: true;
        };
        Page: {
            data: unknown[];
            /** @description null on the last page. */
            nextCursor: string | null;
        };
        Result: {
            /** @constant */
            status: "ok";
            /** @description The runtime's answer. */
            result: unknown;
        };
        SessionResult: components["schemas"]["Result"] & {
            sessionId: string;
        };
        ControlsReply: {
            sessionId: string;
            controls: components["schemas"]["Controls"];
            defaults: components["schemas"]["Controls"];
            defaultsEditable: boolean;
            defaultLockReason: string | null;
        };
        /** @description One rule the request breaks. */
        Issue: {
            code: string;
            path: (string | number)[];
            message: string;
        };
        /** @description What went wrong; `code` is for programs, `message` for people. */
        Problem: {
            /** @constant */
            status: "error";
            code: string;
            message: string;
            details?: {
                [key: string]: unknown;
            };
        };
        /** @description Why an Idempotency-Key does not go with a request; the parameter says what each code means. */
        IdempotencyProblem: {
            /** @constant */
            status: "error";
            /** @enum {string} */
            code: "idempotency_key_reused" | "idempotency_key_in_use" | "idempotency_outcome_unknown";
            message: string;
        };
        Invalid: components["schemas"]["Problem"] & {
            issues?: components["schemas"]["Issue"][];
        };
        /** @description No route was meant: 404, or 400 when the URL itself is broken. */
        RouterReply: {
            message: string;
            error: string;
            statusCode: number;
            code?: string;
        };
        SessionNotFound: {
            /** @constant */
            status: "not_found";
            sessionId: string;
            /** @description Runtimes that could not be asked for the session, because they are down, boot or are silent. */
            details?: {
                notAsked: {
                    runtime: string;
                    state: string;
                    reason: string;
                }[];
            };
        };
        SystemSession: {
            /** @constant */
            status: "error";
            /** @constant */
            code: "system_session";
            sessionId: string;
            message: string;
        };
        NotOwner: {
            /** @constant */
            status: "error";
            /** @constant */
            code: "not_owner";
            /** @description What to do. */
            message: string;
            sessionId: string;
            owner: {
                /** @description What the owner has in its `DATA_DIR/node-id`. */
                nodeId: string;
            };
        };
        Pinned: {
            /** @constant */
            status: "error";
            /**
             * @description What it would be without here: its folder, or what its runtime remembers.
             * @enum {unknown}
             */
            code: "workspace_pinned" | "memory_pinned";
            /** @description What to do. */
            message: string;
            sessionId: string;
            owner: {
                /** @description The node to be started again. */
                nodeId: string;
            };
        };
        DeletedSession: {
            /** @constant */
            status: "deleted";
            sessionId: string;
            title?: string;
            message: string;
            /** Format: date-time */
            deletedAt: string;
        };
        SessionStatus: {
            status: string;
            sessionId: string;
        };
        ProjectState: {
            status: string;
            projectId: string;
            sessionCount?: number;
            sessionIds?: string[];
        };
        /** @description Nothing pending under this id; `resolution` tells who was first, when somebody was. */
        NotPending: {
            /** @constant */
            status: "not_found";
            approvalId?: string;
            requestId?: string;
            /** @constant */
            code?: "already_resolved";
            resolution?: {
                /** @enum {string} */
                status: "resolved" | "expired";
                decision?: string;
                scope?: string;
                message?: string;
                decidedBy?: string;
                /** Format: date-time */
                decidedAt?: string;
            };
        };
        Steered: {
            /** @enum {string} */
            status: "ok" | "error";
            code?: string;
            sessionId: string;
            turnId: string;
            result: {
                /** @constant */
                actionType: "turn.steer";
                status: string;
                details: {
                    [key: string]: unknown;
                };
            };
        };
        /** @enum {string} */
        MethodState: "available" | "disabled" | "unknown";
        /** @description Who may do this. */
        Refusal: {
            /** @enum {string} */
            status: "error" | "unauthorized" | "forbidden";
            code: string;
            required?: string[];
            role?: string;
        };
        /** @description The list has all of it, the answer to a reload the first four. */
        Module: {
            name: string;
            version: string;
            agentId: string;
            events: string[];
            displayName?: string;
            /** @description The folder's name. */
            moduleName?: string;
            origin?: {
                /** @description native, repo_local, installed_package or configured_root. */
                type?: string;
            } & {
                [key: string]: unknown;
            };
            manifestPath?: string | null;
            entrypointPath?: string;
            /** @description What it declared. */
            capabilities?: {
                events?: string[];
                actions?: string[];
                host?: string[];
            };
            /** @description What it declared against what it did. */
            trust?: {
                mode: string;
                status: string;
                warnings: string[];
                errors: string[];
            };
            /** @description What was passed over when it was loaded. */
            diagnostics?: string[];
            /** @description Absent while it is well. */
            health?: {
                /** @enum {string} */
                state: "ok" | "restarting" | "quarantined" | "failed";
                restarts: number;
                lastError?: string;
            };
        };
        QueueProblem: {
            /** @constant */
            status: "error";
            code: string;
            sessionId?: string;
            message: string;
        };
        Suggestion: {
            status: components["schemas"]["EntryStatus"];
            suggestion?: string;
            error?: string;
            /** @description A text, or milliseconds since 1970. */
            updatedAt: number | string;
        };
    };
    responses: {
        /** @description Why not: `error` is a code, what it is about stands beside it. */
        TaskError: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["TaskRefusal"];
            };
        };
        /** @description As many messages of the runtime or of the session are on their way as there may be (`HARNESS_RUNTIME_MAX_MESSAGES`, `HARNESS_SESSION_MAX_MESSAGES`); nothing was done, the same request may be sent again. */
        LimitReached: {
            headers: {
                /** @description Seconds. */
                "Retry-After"?: number;
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /** @constant */
                    status: "error";
                    /** @constant */
                    code: "limit_reached";
                    message: string;
                    details: {
                        runtime: string;
                        /** @description The session whose limit it is; absent when it is the runtime's. */
                        sessionId?: string;
                        limit: number;
                        /** @description What sets the limit. */
                        setting: string;
                    };
                };
            };
        };
        /** @description The path, query or body does not follow its rules. */
        Invalid: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Invalid"];
            };
        };
        /** @description The body is larger than 1 MiB. */
        Unreadable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is neither JSON nor text. */
        UnsupportedMediaType: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The role of the token that was shown is not enough (`insufficient_role`), or it is limited to projects and this belongs to none of them (`project_limited`). */
        InsufficientRole: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description Done. */
        Me: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ok",
                 *       "actor": "token:ann",
                 *       "role": "operator",
                 *       "allowed": [
                 *         "read",
                 *         "transcripts",
                 *         "work"
                 *       ],
                 *       "login": true
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ok";
                    /** @description As it stands in decisions and in the audit log. */
                    actor: string;
                    /** @description What people call who logged in at a provider; absent for others. */
                    name?: string;
                    /** @description That of the token; `owner` for HARNESS_AUTH_TOKEN. */
                    role: string;
                    /** @description Kinds of operations; the role matrix of the documentation has each. */
                    allowed: ("read" | "transcripts" | "work" | "administer")[];
                    /** @description By the cookie of a login. */
                    login: boolean;
                    /** @description Ids of the projects it is limited to; absent for no limit. */
                    projects?: string[];
                };
            };
        };
        /** @description The logout token does not hold, or cannot be checked now. */
        LogoutRefused: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    error: string;
                    error_description: string;
                };
            };
        };
        /** @description How far who asks has read now. */
        ReadTo: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ok",
                 *       "sessionId": "01a1fbb7-e748-7863-a3f3-39c361908c54",
                 *       "readTo": "item-2"
                 *     }
                 */
                "application/json": {
                    /** @enum {unknown} */
                    status: "ok" | "unchanged";
                    sessionId: string;
                    readTo: string | null;
                };
            };
        };
        /** @description No such token. */
        TokenNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    /** @constant */
                    status: "not_found";
                    tokenId: string;
                };
            };
        };
        /** @description How it stands now. */
        TokenChanged: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                /**
                 * @example {
                 *       "status": "ok",
                 *       "token": {
                 *         "id": "0198c0de-0000-7000-8000-000000000001",
                 *         "name": "nightly",
                 *         "role": "ci",
                 *         "state": "active",
                 *         "createdAt": "2026-01-02T03:04:05.678Z",
                 *         "createdBy": "local",
                 *         "expiresAt": "2026-04-02T03:04:05.678Z",
                 *         "revokedAt": null
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    status: "ok";
                    token: components["schemas"]["Token"];
                };
            };
        };
        /** @description The session belongs to the orchestrator's workers. */
        SystemSession: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["SystemSession"];
            };
        };
        /** @description No such session. */
        SessionNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["SessionNotFound"];
            };
        };
        /** @description The session is another node's, whose runtime is needed for this and which is not asked from here. Nothing was changed; ask the node that `owner` names. */
        NotOwner: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["NotOwner"];
            };
        };
        /** @description The session's node is dead, and it cannot go on at the one that was asked. Nothing was changed; start the node that `owner` names. */
        Pinned: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Pinned"];
            };
        };
        /** @description The session was deleted for good. */
        Deleted: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["DeletedSession"];
            };
        };
        /** @description No such project. */
        ProjectNotFound: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ProjectState"];
            };
        };
        /** @description No pending request of this id. */
        NotPending: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["NotPending"];
            };
        };
        /** @description The runtime's version does not have this (`method_not_supported`), or the route is about codex alone (`not_supported`). */
        NotSupported: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The Idempotency-Key that came with it does not go with it. */
        KeyConflict: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["IdempotencyProblem"];
            };
        };
        /** @description The runtime's state does not allow it. The codes `idempotency_...`: the Idempotency-Key that came with it. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
        InvalidStateKeyOrPinned: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"] | components["schemas"]["Pinned"];
            };
        };
        /** @description The runtime's state does not allow it. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
        InvalidStateOrPinned: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"] | components["schemas"]["Pinned"];
            };
        };
        /** @description The runtime's state does not allow it. */
        InvalidState: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The runtime has no credentials for this: `auth_required`, and `message` says how to log in. It is not about the token for this server (`unauthorized`). */
        Unauthenticated: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description No runtime, no queue, or the server is stopping; `message` says what to do. */
        Unavailable: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The runtime did not answer in time; what was asked may still happen. */
        Timeout: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
        /** @description The server's or the runtime's fault. The log has the cause under the reply's `X-Request-Id`. 503 `store_unavailable` with `Retry-After`: the store refuses; send the request again then. 504 `store_unavailable`: it was done and will be stored; do not. With several servers on one Postgres: 503 `owner_unreachable` with `Retry-After`, the node that owns the session cannot be asked now and nothing was done; 504 `owner_answer_lost`, it was asked and its answer was lost: look before you send it again. */
        Error: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: {
        /** @description A provider of HARNESS_OIDC_FILE. */
        provider: string;
        /** @description Has sessions with `plan`, `usage`, `lastEntryAt`, `readTo` and `unread`. */
        view: "console";
        /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
        idempotencyKey: string;
        /** @description The subscription's id. */
        subscriptionId: string;
        /** @description The token's id. */
        tokenId: string;
        /** @description The session's id; for codex its thread id. */
        sessionId: string;
        /** @description The project's id. */
        projectId: string;
        /** @description The turn's id. */
        turnId: string;
        /** @description As the tool told it. */
        artifactId: string;
        /** @description The job's id. */
        jobId: string;
        /** @description As the list and the stream told it. */
        approvalId: string;
        /** @description As the list and the stream told it. */
        requestId: string;
        /** @description Name of a configured MCP server. */
        serverName: string;
        /** @description The setting's key, escaped. */
        key: string;
        /** @description One of the server's runtimes. */
        runtimeName: string;
        /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
        runtimeChoice: string;
        /** @description `nextCursor` of the page before. */
        cursor: string;
        /** @description Page size. */
        limit: number;
        /** @description Whose settings. */
        settingsScope: components["schemas"]["Scope"];
        /** @description Who changes it, for the audit entry. */
        actor: string;
        /** @description Through what, for the audit entry. */
        source: string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getApiInfo: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "harness",
                     *       "version": "0.1.0"
                     *     }
                     */
                    "application/json": {
                        name: string;
                        version: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    getHealth: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "service": "api",
                     *       "codex": {
                     *         "running": true,
                     *         "pid": 4242,
                     *         "initialized": true,
                     *         "state": "starting"
                     *       },
                     *       "orchestratorQueue": {
                     *         "enabled": true
                     *       },
                     *       "auth": {
                     *         "hasOpenAiApiKey": true,
                     *         "codexHomeAuthFile": true,
                     *         "likelyUnauthenticated": false
                     *       },
                     *       "timestamp": "2026-01-02T03:04:05.678Z"
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "degraded";
                        /** @constant */
                        service: "api";
                        codex: {
                            running: boolean;
                            pid: number | null;
                            initialized: boolean;
                            lastExit?: {
                                code: number | null;
                                signal: string | null;
                                /** Format: date-time */
                                at: string;
                            };
                            /**
                             * @description Only while not ready.
                             * @enum {string}
                             */
                            state?: "starting" | "unavailable" | "stopped" | "unresponsive";
                            /** @description Why it is not ready and what happens next. */
                            reason?: string;
                            /** @description The process that keeps codex running when this server ends; absent when codex is this server's child. */
                            shim?: {
                                pid: number;
                                /** @description The release the shim is of. */
                                version: string;
                                /** @description How many servers have attached to it, this one included. */
                                servers: number;
                            };
                        };
                        orchestratorQueue: {
                            enabled: boolean;
                            queued?: number;
                            running?: number;
                            completed?: number;
                            failed?: number;
                            canceled?: number;
                            projects?: number;
                        };
                        auth: {
                            hasOpenAiApiKey: boolean;
                            codexHomeAuthFile: boolean;
                            likelyUnauthenticated: boolean;
                        };
                        /** @description Only while the store refuses writes, or rows of it are known to be damaged. */
                        store?: {
                            /** @enum {string} */
                            engine: "sqlite" | "postgres";
                            /** @enum {unknown} */
                            state: "refusing_writes" | "damaged";
                            /** Format: date-time */
                            since: string;
                            reason: string;
                        };
                        /** @description Every runtime of this server, the default one first. */
                        runtimes?: components["schemas"]["RuntimeStatus"][];
                        /**
                         * @description Of the runtime that `runtime` names, and only then.
                         * @enum {string}
                         */
                        credentials?: "found" | "missing" | "unknown";
                        /** Format: date-time */
                        timestamp: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ready",
                     *       "store": {
                     *         "ready": true
                     *       },
                     *       "runtimes": [
                     *         {
                     *           "name": "codex",
                     *           "state": "ready"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            400: components["responses"]["Invalid"];
            /** @description Starting, draining, without a store that takes writes, or without a runtime that could take a turn. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getReadinessByItsUsualName: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ready",
                     *       "store": {
                     *         "ready": true
                     *       },
                     *       "runtimes": [
                     *         {
                     *           "name": "codex",
                     *           "state": "ready"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            /** @description Not ready. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getLiveness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "alive"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "alive";
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getMetrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Prometheus text format. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    connectEventStream: {
        parameters: {
            query?: {
                /** @description Only events of this session, and broadcasts. */
                threadId?: string;
                /** @description A position of a frame seen before: what came after it is sent first, then what is new. `0`: all that is kept; `latest`: from now on, with positions. */
                after?: string;
                /** @description Each event as one frame, of every session; texts piece by piece of the sessions in `threadIds` alone. */
                view?: "console";
                /** @description With `view`: sessions whose texts come piece by piece. */
                threadIds?: string[];
                /** @description The token, for browsers, which cannot set a header here. */
                access_token?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Switching to the websocket protocol. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not a valid upgrade. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Not an upgrade; the body is empty. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            default: components["responses"]["Error"];
        };
    };
    connectRpc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Switching to the websocket protocol. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not a valid upgrade. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Not an upgrade. */
            426: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    callRpc: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "jsonrpc": "2.0",
                 *       "id": 1,
                 *       "method": "session/list"
                 *     }
                 */
                "application/json": unknown;
            };
        };
        responses: {
            /** @description The answer, also of a call that failed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "jsonrpc": "2.0",
                     *       "id": 1,
                     *       "result": {
                     *         "sessions": []
                     *       }
                     *     }
                     */
                    "application/json": unknown;
                };
            };
            /** @description There were notifications only. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The message is longer than 1 MiB. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            /** @description It is not application/json. */
            415: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": unknown;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    connectRpcAsCdev: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Switching to the websocket protocol. */
            101: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description Not a valid upgrade. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Not an upgrade. */
            426: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getOpenRPC: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openrpc": "1.3.2"
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getAsyncAPI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "asyncapi": "3.0.0"
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getOpenAPI: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "openapi": "3.1.0"
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    getDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: components["responses"]["Error"];
        };
    };
    readArtifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As the tool told it. */
                artifactId: components["parameters"]["artifactId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The part asked for with `Range`. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The client has it. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such artifact. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such range. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The store cannot be read. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    downloadArtifact: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description As the tool told it. */
                artifactId: components["parameters"]["artifactId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bytes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The part asked for with `Range`. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The client has it. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description No such artifact. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no such range. */
            416: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The store cannot be read. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    listProjects: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "projectId": "p-1",
                     *           "name": "web",
                     *           "workingDirectory": "/srv/web",
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "updatedAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ],
                     *       "pos": 4711
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Project"][];
                        pos?: components["schemas"]["StreamPosition"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    createProject: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "web",
                 *       "workingDirectory": "/srv/web"
                 *     }
                 */
                "application/json": {
                    name: string;
                    workingDirectory?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "project": {
                     *         "projectId": "p-1",
                     *         "name": "web",
                     *         "workingDirectory": "/srv/web",
                     *         "createdAt": "2026-01-02T03:04:05.678Z",
                     *         "updatedAt": "2026-01-02T03:04:05.678Z"
                     *       },
                     *       "orchestrationSession": null
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        project: components["schemas"]["Project"];
                        orchestrationSession: null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description Another project has the name (case and outer spaces aside). The codes `idempotency_...`: the Idempotency-Key that came with it. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectState"] | components["schemas"]["IdempotencyProblem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    renameProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project's id. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "web"
                 *     }
                 */
                "application/json": {
                    name: string;
                    workingDirectory?: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "project": {
                     *         "projectId": "p-1",
                     *         "name": "web",
                     *         "workingDirectory": "/srv/web",
                     *         "createdAt": "2026-01-02T03:04:05.678Z",
                     *         "updatedAt": "2026-01-02T03:04:05.678Z"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        project: components["schemas"]["Project"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["ProjectNotFound"];
            /** @description Another project has the name (case and outer spaces aside). */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectState"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    deleteProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project's id. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "projectId": "p-1",
                     *       "unassignedSessionCount": 0
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        projectId: string;
                        unassignedSessionCount: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["ProjectNotFound"];
            /** @description It still has sessions. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectState"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    listProjectAgentSessions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project's id. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "projectId": "p-1",
                     *       "data": [
                     *         {
                     *           "agent": "web",
                     *           "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *           "systemOwned": true
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        projectId: string;
                        data: components["schemas"]["AgentSession"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["ProjectNotFound"];
            default: components["responses"]["Error"];
        };
    };
    moveProjectChats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project's id. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "destination": "unassigned"
                 *     }
                 */
                "application/json": {
                    /** @enum {string} */
                    destination: "unassigned" | "archive";
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "projectId": "p-1",
                     *       "destination": "unassigned",
                     *       "movedSessionCount": 0,
                     *       "archivedSessionCount": 0,
                     *       "alreadyArchivedSessionCount": 0
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        projectId: string;
                        /** @enum {string} */
                        destination: "unassigned" | "archive";
                        movedSessionCount: number;
                        archivedSessionCount: number;
                        alreadyArchivedSessionCount: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["ProjectNotFound"];
            /** @description Some have nothing to archive; nothing was moved. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ProjectState"] | components["schemas"]["Pinned"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    deleteProjectChats: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The project's id. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "projectId": "p-1",
                     *       "deletedSessionCount": 0,
                     *       "skippedSessionCount": 0
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        projectId: string;
                        deletedSessionCount: number;
                        skippedSessionCount: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["ProjectNotFound"];
            409: components["responses"]["Pinned"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listSessions: {
        parameters: {
            query?: {
                /** @description The archived ones instead. */
                archived?: "true" | "false";
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description Page size. */
                limit?: components["parameters"]["limit"];
                /** @description Workers' sessions too. */
                includeSystemOwned?: "true" | "false";
                /** @description Only those in whose title or first message this text occurs, however it is capitalised. */
                q?: string;
                /** @description Only those of this runtime; 400 for one that neither the server nor any session has. */
                runtime?: string;
                /** @description Only those of the project with this id; `none` for those in no project. */
                project?: string;
                /** @description Only those that are in this state now. */
                state?: "idle" | "running" | "waiting" | "error" | "unresponsive";
                /** @description By when they changed last or by when they began, newest first. A cursor belongs to its order. */
                sort?: "updated" | "created";
                /** @description Has sessions with `plan`, `usage`, `lastEntryAt`, `readTo` and `unread`. */
                view?: components["parameters"]["view"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *           "title": "Fix the tests",
                     *           "materialized": true,
                     *           "modelProvider": "openai",
                     *           "approvalPolicy": "on-request",
                     *           "sessionControls": {
                     *             "model": "gpt-5.2-codex",
                     *             "approvalPolicy": "on-request",
                     *             "networkAccess": "restricted",
                     *             "filesystemSandbox": "workspace-write",
                     *             "settings": {
                     *               "theme": "dark"
                     *             }
                     *           },
                     *           "createdAt": 1767323045,
                     *           "updatedAt": 1767323045,
                     *           "cwd": "/srv/web",
                     *           "source": "appServer",
                     *           "projectId": "p-1",
                     *           "runtime": "codex",
                     *           "state": "idle",
                     *           "activeTurnId": null,
                     *           "pendingCount": 0
                     *         }
                     *       ],
                     *       "nextCursor": null,
                     *       "archived": true,
                     *       "pos": 4711
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Session"][];
                        nextCursor: string | null;
                        archived: boolean;
                        pos?: components["schemas"]["StreamPosition"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    createSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "cwd": "/srv/web",
                 *       "model": "gpt-5.2-codex",
                 *       "approvalPolicy": "on-request",
                 *       "filesystemSandbox": "workspace-write"
                 *     }
                 */
                "application/json": {
                    cwd?: string;
                    model?: string;
                    approvalPolicy?: components["schemas"]["ApprovalPolicy"];
                    networkAccess?: components["schemas"]["NetworkAccess"];
                    filesystemSandbox?: components["schemas"]["FilesystemSandbox"];
                    dynamicTools?: components["schemas"]["DynamicTool"][];
                    /** @description One of the server's runtimes (`runtimes` of `/api/health`); the default one when not given. */
                    runtime?: string;
                    /**
                     * @description How much the agent may read by itself: `choices` of `GET .../sources`, `implicitSources` of the runtime's capabilities. 400 `unsupported_control` for what the runtime cannot be held to.
                     * @enum {string}
                     */
                    implicitSources?: "all" | "home" | "none";
                    /** @description That no person is there: approvals and questions of the agent are declined at once (`decidedBy` is `mode:nonInteractive`), so that no turn waits for anybody. Calls of a client's own tools go to the client as ever. */
                    nonInteractive?: boolean;
                    /**
                     * @description Whether the agent has tools of its own besides those of this server; `on` when not given. 400 `unsupported_control` for a runtime that cannot be told (`nativeToolsOff` of its capabilities).
                     * @enum {string}
                     */
                    nativeTools?: "on" | "off";
                    /** @description The project it is opened in. Who is limited to several projects has to name one; its sessions work in the folder of the project. */
                    projectId?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session": {
                     *         "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "title": "Fix the tests",
                     *         "materialized": true,
                     *         "modelProvider": "openai",
                     *         "approvalPolicy": "on-request",
                     *         "sessionControls": {
                     *           "model": "gpt-5.2-codex",
                     *           "approvalPolicy": "on-request",
                     *           "networkAccess": "restricted",
                     *           "filesystemSandbox": "workspace-write",
                     *           "settings": {
                     *             "theme": "dark"
                     *           }
                     *         },
                     *         "createdAt": 1767323045,
                     *         "updatedAt": 1767323045,
                     *         "cwd": "/srv/web",
                     *         "source": "appServer",
                     *         "projectId": "p-1",
                     *         "runtime": "codex",
                     *         "state": "idle",
                     *         "activeTurnId": null,
                     *         "pendingCount": 0
                     *       },
                     *       "thread": null
                     *     }
                     */
                    "application/json": {
                        session: components["schemas"]["Session"];
                        thread: components["schemas"]["Thread"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            409: components["responses"]["KeyConflict"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            429: components["responses"]["LimitReached"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    readSession: {
        parameters: {
            query?: {
                /** @description How many entries at most; with neither `before` nor `after` the newest ones. */
                limit?: number;
                /** @description The `messageId` of an entry; those just before it are wanted. Not together with `after`. */
                before?: string;
                /** @description The `messageId` of an entry; those that follow it are wanted. */
                after?: string;
                /** @description The `messageId` of an entry; it is wanted, and as many before it as behind it. With `limit=1` it alone. */
                around?: string;
                /** @description `start`: the oldest entries are wanted. Of `before`, `after`, `around` and `from` one at most. */
                from?: "start";
                /** @description `true`: `window.count` says how many entries there are in all, which costs more the more there are. */
                count?: "true" | "false";
                /** @description `omit`: entries come without `details`, with their length as `detailsBytes`; `around` with `limit=1` reads those of one. */
                details?: "omit";
                /** @description Has sessions with `plan`, `usage`, `lastEntryAt`, `readTo` and `unread`. */
                view?: components["parameters"]["view"];
            };
            header?: {
                /** @description The `ETag` of what the client has. */
                "If-None-Match"?: string;
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    /** @description Names this version. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session": {
                     *         "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "title": "Fix the tests",
                     *         "materialized": true,
                     *         "modelProvider": "openai",
                     *         "approvalPolicy": "on-request",
                     *         "sessionControls": {
                     *           "model": "gpt-5.2-codex",
                     *           "approvalPolicy": "on-request",
                     *           "networkAccess": "restricted",
                     *           "filesystemSandbox": "workspace-write",
                     *           "settings": {
                     *             "theme": "dark"
                     *           }
                     *         },
                     *         "createdAt": 1767323045,
                     *         "updatedAt": 1767323045,
                     *         "cwd": "/srv/web",
                     *         "source": "appServer",
                     *         "projectId": "p-1",
                     *         "runtime": "codex",
                     *         "state": "idle",
                     *         "activeTurnId": null,
                     *         "pendingCount": 0
                     *       },
                     *       "thread": null,
                     *       "transcript": [
                     *         {
                     *           "messageId": "item-2",
                     *           "turnId": "turn-1",
                     *           "role": "assistant",
                     *           "type": "message",
                     *           "content": "All tests pass.",
                     *           "startedAt": 1767323045,
                     *           "completedAt": 1767323045,
                     *           "status": "complete"
                     *         }
                     *       ],
                     *       "pos": 4711
                     *     }
                     */
                    "application/json": {
                        session: components["schemas"]["Session"];
                        thread: components["schemas"]["Thread"];
                        transcript: components["schemas"]["TranscriptEntry"][];
                        pos?: components["schemas"]["StreamPosition"];
                        capabilities?: components["schemas"]["Capabilities"];
                        /** @description True when the conversation has turns from elsewhere (before it came here, or made behind this server's back) that are not taken in yet. Absent otherwise. */
                        historyPending?: boolean;
                        /** @description Only of a window; the cursors that go on, null where there is nothing more for now. */
                        window?: {
                            before: string | null;
                            after: string | null;
                            count?: number;
                        };
                    };
                };
            };
            /** @description The client has this version. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    deleteSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "title": "Fix the tests",
                     *       "deletedFileCount": 0
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        title: string;
                        deletedFileCount: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            409: components["responses"]["Pinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    markSessionRead: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "messageId": "item-2"
                 *     }
                 */
                "application/json": {
                    messageId: string;
                };
            };
        };
        responses: {
            200: components["responses"]["ReadTo"];
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            /** @description No such session, or its transcript has no such entry (`messageId`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "not_found";
                        sessionId: string;
                        messageId?: string;
                    };
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    markSessionUnread: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["ReadTo"];
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    readSessionSources: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "implicitSources": "all",
                     *       "choices": [
                     *         "all",
                     *         "home"
                     *       ],
                     *       "data": [
                     *         {
                     *           "path": "/srv/web/AGENTS.md",
                     *           "kind": "settings",
                     *           "scope": "home",
                     *           "bytes": 0,
                     *           "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                     *           "state": "same",
                     *           "began": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        sessionId: string;
                        /** @description all: its home and its folder; home: its home; none: neither. Null where it cannot be known (agents of HARNESS_ACP_AGENTS): `data` then has only the files their configuration names, and they may read others. */
                        implicitSources: string | null;
                        /** @description What the runtime can be held to, what it does unless told otherwise first. */
                        choices: string[];
                        data: {
                            path: string;
                            /** @enum {string} */
                            kind: "settings" | "instructions";
                            /** @enum {string} */
                            scope: "home" | "folder" | "system";
                            bytes: number;
                            /** @description Empty where the file cannot be read; `reason` says why. */
                            sha256: string;
                            reason?: string;
                            /**
                             * @description What became of it since the session began.
                             * @enum {string}
                             */
                            state: "same" | "changed" | "added" | "removed" | "unknown";
                            /** @description How it was when the session began; null when it was not there, or nothing was noted. */
                            began: null | {
                                bytes: number;
                                sha256: string;
                            };
                        }[];
                    };
                };
            };
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            409: components["responses"]["Pinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    renameSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "title": "Fix the tests"
                 *     }
                 */
                "application/json": {
                    title: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "session": {
                     *         "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "title": "Fix the tests",
                     *         "materialized": true,
                     *         "modelProvider": "openai",
                     *         "approvalPolicy": "on-request",
                     *         "sessionControls": {
                     *           "model": "gpt-5.2-codex",
                     *           "approvalPolicy": "on-request",
                     *           "networkAccess": "restricted",
                     *           "filesystemSandbox": "workspace-write",
                     *           "settings": {
                     *             "theme": "dark"
                     *           }
                     *         },
                     *         "createdAt": 1767323045,
                     *         "updatedAt": 1767323045,
                     *         "cwd": "/srv/web",
                     *         "source": "appServer",
                     *         "projectId": "p-1",
                     *         "runtime": "codex",
                     *         "state": "idle",
                     *         "activeTurnId": null,
                     *         "pendingCount": 0
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        session: components["schemas"]["Session"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            409: components["responses"]["Pinned"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    archiveSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            /** @description Archived already, or nothing stored. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionStatus"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    unarchiveSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "session": {
                     *         "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "title": "Fix the tests",
                     *         "materialized": true,
                     *         "modelProvider": "openai",
                     *         "approvalPolicy": "on-request",
                     *         "sessionControls": {
                     *           "model": "gpt-5.2-codex",
                     *           "approvalPolicy": "on-request",
                     *           "networkAccess": "restricted",
                     *           "filesystemSandbox": "workspace-write",
                     *           "settings": {
                     *             "theme": "dark"
                     *           }
                     *         },
                     *         "createdAt": 1767323045,
                     *         "updatedAt": 1767323045,
                     *         "cwd": "/srv/web",
                     *         "source": "appServer",
                     *         "projectId": "p-1",
                     *         "runtime": "codex",
                     *         "state": "idle",
                     *         "activeTurnId": null,
                     *         "pendingCount": 0
                     *       },
                     *       "thread": null
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        session: components["schemas"]["Session"];
                        thread: components["schemas"]["Thread"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            /** @description Nothing stored. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionStatus"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    resumeSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "dynamicTools": [
                 *         {
                 *           "name": "web",
                 *           "description": "Looks a ticket up",
                 *           "inputSchema": {
                 *             "type": "object"
                 *           }
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    dynamicTools?: components["schemas"]["DynamicTool"][];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session": {
                     *         "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "title": "Fix the tests",
                     *         "materialized": true,
                     *         "modelProvider": "openai",
                     *         "approvalPolicy": "on-request",
                     *         "sessionControls": {
                     *           "model": "gpt-5.2-codex",
                     *           "approvalPolicy": "on-request",
                     *           "networkAccess": "restricted",
                     *           "filesystemSandbox": "workspace-write",
                     *           "settings": {
                     *             "theme": "dark"
                     *           }
                     *         },
                     *         "createdAt": 1767323045,
                     *         "updatedAt": 1767323045,
                     *         "cwd": "/srv/web",
                     *         "source": "appServer",
                     *         "projectId": "p-1",
                     *         "runtime": "codex",
                     *         "state": "idle",
                     *         "activeTurnId": null,
                     *         "pendingCount": 0
                     *       },
                     *       "thread": null
                     *     }
                     */
                    "application/json": {
                        session: components["schemas"]["Session"];
                        thread: components["schemas"]["Thread"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            /** @description Nothing stored. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionStatus"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    setSessionProject: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "projectId": "p-1"
                 *     }
                 */
                "application/json": {
                    projectId: string | null;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "projectId": "p-1",
                     *       "previousProjectId": null
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        projectId: string | null;
                        previousProjectId: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            /** @description No such project (looked for first) or session. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @enum {string} */
                        status: "not_found" | "project_not_found";
                        sessionId: string;
                        projectId?: string;
                    };
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    upsertSessionTranscriptEntry: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "messageId": "item-2",
                 *       "turnId": "turn-1",
                 *       "role": "assistant",
                 *       "type": "message",
                 *       "content": "All tests pass.",
                 *       "startedAt": 1767323045,
                 *       "completedAt": 1767323045,
                 *       "status": "complete"
                 *     }
                 */
                "application/json": components["schemas"]["TranscriptUpsert"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "entry": {
                     *         "messageId": "item-2",
                     *         "turnId": "turn-1",
                     *         "role": "assistant",
                     *         "type": "message",
                     *         "content": "All tests pass.",
                     *         "startedAt": 1767323045,
                     *         "completedAt": 1767323045,
                     *         "status": "complete"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        entry: components["schemas"]["TranscriptEntry"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    upsertSessionTranscriptEntries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "entries": [
                 *         {
                 *           "messageId": "item-2",
                 *           "turnId": "turn-1",
                 *           "role": "assistant",
                 *           "type": "message",
                 *           "content": "All tests pass.",
                 *           "startedAt": 1767323045,
                 *           "completedAt": 1767323045,
                 *           "status": "complete"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    entries: components["schemas"]["TranscriptUpsert"][];
                };
            };
        };
        responses: {
            /** @description Done. The entries as they were sent, in their order. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "entries": [
                     *         {
                     *           "messageId": "item-2",
                     *           "turnId": "turn-1",
                     *           "role": "assistant",
                     *           "type": "message",
                     *           "content": "All tests pass.",
                     *           "startedAt": 1767323045,
                     *           "completedAt": 1767323045,
                     *           "status": "complete"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        entries: components["schemas"]["TranscriptEntry"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    sendSessionMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "Make the tests pass",
                 *       "effort": "medium"
                 *     }
                 */
                "application/json": {
                    text: string;
                    effort?: components["schemas"]["Effort"];
                    model?: string;
                    approvalPolicy?: components["schemas"]["ApprovalPolicy"];
                    networkAccess?: components["schemas"]["NetworkAccess"];
                    filesystemSandbox?: components["schemas"]["FilesystemSandbox"];
                    dynamicTools?: components["schemas"]["DynamicTool"][];
                    images?: (components["schemas"]["ImageURL"] | {
                        url: components["schemas"]["ImageURL"];
                    })[];
                };
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "accepted",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "turnId": "turn-1"
                     *     }
                     */
                    "application/json": {
                        /**
                         * @description `queued`: the runtime cannot steer, and the message waits for the running turn.
                         * @enum {string}
                         */
                        status: "accepted" | "queued";
                        sessionId: string;
                        /** @description Empty of a message that is queued. */
                        turnId: string;
                        /** @description The queued message, as in `GET .../queue`. */
                        messageId?: string;
                        /** @description Its place in the queue, from 1. */
                        position?: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            409: components["responses"]["InvalidStateKeyOrPinned"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            429: components["responses"]["LimitReached"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    interruptSessionTurn: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "turnId": "turn-1"
                 *     }
                 */
                "application/json": {
                    turnId?: string;
                    /**
                     * @description Leave the background work running that the turn began.
                     * @default false
                     */
                    keepBackground?: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "turnId": "turn-1"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        turnId: string;
                        /** @description The background work that ended with the turn; absent for none. */
                        endedBackground?: components["schemas"]["BackgroundTask"][];
                        /** @description The background work that goes on; absent for none. */
                        background?: components["schemas"]["BackgroundTask"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            /** @description No turn runs, or another one. `turn_active`: it does not end, and its process also runs turns of other sessions, so it was not ended. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionStatus"] | components["schemas"]["Problem"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    retryTurn: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The turn's id. */
                turnId: components["parameters"]["turnId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; `turnId` is the new turn. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "accepted",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "turnId": "turn-1"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "accepted";
                        sessionId: string;
                        turnId: string;
                    };
                };
            };
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            /** @description This turn is not tried again, for the `reason` in `details`. The codes `idempotency_...`: the Idempotency-Key that came with it. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "error";
                        /** @enum {string} */
                        code: "not_retryable" | "invalid_state" | "unsupported_by_runtime" | "idempotency_key_reused" | "idempotency_key_in_use" | "idempotency_outcome_unknown";
                        message: string;
                        details?: {
                            sessionId?: string;
                            turnId?: string;
                            reason?: string;
                        };
                    } | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            429: components["responses"]["LimitReached"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    steerTurn: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The turn's id. */
                turnId: components["parameters"]["turnId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "input": "and the linter"
                 *     }
                 */
                "application/json": {
                    input: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "turnId": "turn-1",
                     *       "result": {
                     *         "actionType": "turn.steer",
                     *         "status": "status",
                     *         "details": {}
                     *       }
                     *     }
                     */
                    "application/json": components["schemas"]["Steered"];
                };
            };
            /** @description The body is wrong, or the runtime refused. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invalid"] | components["schemas"]["Steered"];
                };
            };
            403: components["responses"]["SystemSession"];
            /** @description Nothing to steer. The codes `idempotency_...`: the Idempotency-Key that came with it. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Steered"] | components["schemas"]["IdempotencyProblem"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    forkSession: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "session": {
                     *         "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "title": "Fix the tests",
                     *         "materialized": true,
                     *         "modelProvider": "openai",
                     *         "approvalPolicy": "on-request",
                     *         "sessionControls": {
                     *           "model": "gpt-5.2-codex",
                     *           "approvalPolicy": "on-request",
                     *           "networkAccess": "restricted",
                     *           "filesystemSandbox": "workspace-write",
                     *           "settings": {
                     *             "theme": "dark"
                     *           }
                     *         },
                     *         "createdAt": 1767323045,
                     *         "updatedAt": 1767323045,
                     *         "cwd": "/srv/web",
                     *         "source": "appServer",
                     *         "projectId": "p-1",
                     *         "runtime": "codex",
                     *         "state": "idle",
                     *         "activeTurnId": null,
                     *         "pendingCount": 0
                     *       },
                     *       "thread": null
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sourceSessionId: string;
                        session: components["schemas"]["Session"];
                        thread: components["schemas"]["Thread"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            409: components["responses"]["InvalidStateKeyOrPinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    compactSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {},
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": components["schemas"]["SessionResult"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            409: components["responses"]["InvalidStateOrPinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    rollbackSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "numTurns": 1
                 *     }
                 */
                "application/json": {
                    numTurns?: components["schemas"]["WholeNumber"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {},
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": components["schemas"]["SessionResult"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            409: components["responses"]["InvalidStateOrPinned"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    cleanBackgroundTerminals: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {},
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": components["schemas"]["SessionResult"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            409: components["responses"]["InvalidStateOrPinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listBackgroundTasks: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "background": []
                     *     }
                     */
                    "application/json": components["schemas"]["Background"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            409: components["responses"]["InvalidStateOrPinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    stopBackgroundTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @example task-1 */
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "background": []
                     *     }
                     */
                    "application/json": components["schemas"]["Background"];
                };
            };
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            /** @description No such session, or `background_not_found`: the task is over. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionNotFound"] | components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["InvalidStateOrPinned"];
            410: components["responses"]["Deleted"];
            421: components["responses"]["NotOwner"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    startReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "delivery": "inline",
                 *       "targetType": "uncommittedChanges"
                 *     }
                 */
                "application/json": {
                    /** @enum {string} */
                    delivery?: "inline" | "detached";
                    /** @enum {string} */
                    targetType?: "uncommittedChanges" | "baseBranch" | "commit" | "custom";
                    branch?: string;
                    sha?: string;
                    title?: string;
                    instructions?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {},
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": components["schemas"]["SessionResult"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            403: components["responses"]["SystemSession"];
            409: components["responses"]["InvalidStateOrPinned"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listRequests: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "kind": "approval",
                     *           "method": "item/commandExecution/requestApproval",
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1",
                     *           "itemId": "item-1",
                     *           "summary": "go test ./...",
                     *           "details": {},
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "status": "pending",
                     *           "approvalId": "ap-1",
                     *           "availableDecisions": []
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: ({
                            /** @enum {unknown} */
                            kind: "approval" | "toolInput" | "toolCall";
                        } & (components["schemas"]["Approval"] | components["schemas"]["ToolInput"] | components["schemas"]["ToolCall"]))[];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    listSessionApprovals: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "method": "item/commandExecution/requestApproval",
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1",
                     *           "itemId": "item-1",
                     *           "summary": "go test ./...",
                     *           "details": {},
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "status": "pending",
                     *           "approvalId": "ap-1",
                     *           "availableDecisions": []
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Approval"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    listSessionToolInput: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "method": "item/commandExecution/requestApproval",
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1",
                     *           "itemId": "item-1",
                     *           "summary": "go test ./...",
                     *           "details": {},
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "status": "pending",
                     *           "requestId": "rq-1",
                     *           "questions": [
                     *             {}
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["ToolInput"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    listSessionToolCalls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "method": "item/commandExecution/requestApproval",
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1",
                     *           "itemId": "item-1",
                     *           "summary": "go test ./...",
                     *           "details": {},
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "status": "pending",
                     *           "requestId": "rq-1",
                     *           "callId": "call-1",
                     *           "tool": "lookup_ticket",
                     *           "arguments": {}
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["ToolCall"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    decideApproval: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description As the list and the stream told it. */
                approvalId: components["parameters"]["approvalId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "decision": "accept",
                 *       "scope": "turn",
                 *       "message": "Go ahead."
                 *     }
                 */
                "application/json": {
                    decision: components["schemas"]["Decision"];
                    /**
                     * @default turn
                     * @enum {string}
                     */
                    scope?: "turn" | "session";
                    /** @description One of the request's `availableDecisions` as it is, for those no decision and scope say, such as the amendment of a policy. It has to agree with `decision`. */
                    choice?: unknown;
                    /** @description The name of one of them instead, such as `acceptWithExecpolicyAmendment`; a second one of a name is `NAME-2`. */
                    option?: string;
                    /** @description With `accept`: the whole arguments the tool is used with in place of those that were asked about. Claude Code takes them, other runtimes do not (400). */
                    updatedInput?: Record<string, never>;
                    message?: components["schemas"]["Reason"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "approvalId": "ap-1",
                     *       "threadId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        approvalId: string;
                        threadId: string;
                        reasonReaches?: components["schemas"]["ReasonReaches"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["NotPending"];
            409: components["responses"]["KeyConflict"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    decideToolInput: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description As the list and the stream told it. */
                requestId: components["parameters"]["requestId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "decision": "accept",
                 *       "answers": {
                 *         "q1": {
                 *           "answers": [
                 *             "yes"
                 *           ]
                 *         }
                 *       }
                 *     }
                 */
                "application/json": {
                    decision: components["schemas"]["Decision"];
                    answers?: {
                        [key: string]: {
                            answers: string[];
                        };
                    };
                    /** @description Sent to the runtime as it is. For a form of an MCP server: its content, or MCP's whole result with `action`. */
                    response?: unknown;
                    message?: components["schemas"]["Reason"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "requestId": "rq-1",
                     *       "threadId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        requestId: string;
                        threadId: string;
                        reasonReaches?: components["schemas"]["ReasonReaches"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["NotPending"];
            409: components["responses"]["KeyConflict"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    respondToolCall: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description As the list and the stream told it. */
                requestId: components["parameters"]["requestId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "success": true,
                 *       "text": "Ticket 7 is open."
                 *     }
                 */
                "application/json": {
                    success?: boolean;
                    text?: string;
                    contentItems?: ({
                        /** @constant */
                        type: "inputText";
                        text: string;
                    } | {
                        /** @constant */
                        type: "inputImage";
                        imageUrl: string;
                    })[];
                    /** @description Sent to the runtime as it is. */
                    response?: unknown;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "requestId": "rq-1",
                     *       "threadId": "0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        requestId: string;
                        threadId: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            404: components["responses"]["NotPending"];
            409: components["responses"]["KeyConflict"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    getSessionControls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "controls": {
                     *         "model": "gpt-5.2-codex",
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {
                     *           "theme": "dark"
                     *         }
                     *       },
                     *       "defaults": {
                     *         "model": "gpt-5.2-codex",
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {
                     *           "theme": "dark"
                     *         }
                     *       },
                     *       "defaultsEditable": true,
                     *       "defaultLockReason": null,
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": components["schemas"]["ControlsReply"] & {
                        /** @constant */
                        status: "ok";
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    applySessionControls: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "scope": "session",
                 *       "controls": {
                 *         "model": null,
                 *         "approvalPolicy": "on-request",
                 *         "networkAccess": "restricted",
                 *         "filesystemSandbox": "workspace-write"
                 *       },
                 *       "actor": "alice"
                 *     }
                 */
                "application/json": {
                    scope: components["schemas"]["Scope"];
                    controls: components["schemas"]["ControlsWish"];
                    actor?: string;
                    source?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "controls": {
                     *         "model": "gpt-5.2-codex",
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {
                     *           "theme": "dark"
                     *         }
                     *       },
                     *       "defaults": {
                     *         "model": "gpt-5.2-codex",
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {
                     *           "theme": "dark"
                     *         }
                     *       },
                     *       "defaultsEditable": true,
                     *       "defaultLockReason": null,
                     *       "status": "ok",
                     *       "scope": "session",
                     *       "applied": {
                     *         "model": "gpt-5.2-codex",
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {
                     *           "theme": "dark"
                     *         }
                     *       },
                     *       "summary": "go test ./..."
                     *     }
                     */
                    "application/json": components["schemas"]["ControlsReply"] & {
                        /** @enum {string} */
                        status: "ok" | "unchanged";
                        scope: components["schemas"]["Scope"];
                        applied: components["schemas"]["Controls"];
                        summary: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The defaults are set by configuration. */
            423: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ControlsReply"] & {
                        /** @constant */
                        status: "locked";
                        /** @constant */
                        scope: "default";
                        message: string;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    setSessionApprovalPolicy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "approvalPolicy": "on-request"
                 *     }
                 */
                "application/json": {
                    approvalPolicy: components["schemas"]["ApprovalPolicy"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "approvalPolicy": "on-request"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        approvalPolicy: components["schemas"]["ApprovalPolicy"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    getSessionSettings: {
        parameters: {
            query?: {
                /** @description Whose settings. */
                scope?: components["parameters"]["settingsScope"];
                /** @description Only this one. */
                key?: string;
            };
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "scope": "session",
                     *       "key": "theme",
                     *       "found": true,
                     *       "value": "dark"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        scope: components["schemas"]["Scope"];
                        key: string;
                        found: boolean;
                        value: unknown;
                    } | {
                        /** @enum {string} */
                        status: "ok" | "unchanged";
                        sessionId: string;
                        scope: components["schemas"]["Scope"];
                        key?: string;
                        settings: components["schemas"]["Settings"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    setSessionSettings: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "scope": "session",
                 *       "value": "dark",
                 *       "settings": {
                 *         "theme": "dark"
                 *       }
                 *     }
                 */
                "application/json": {
                    scope: components["schemas"]["Scope"];
                    key?: string;
                    value?: unknown;
                    settings?: components["schemas"]["Settings"];
                    /**
                     * @default merge
                     * @enum {string}
                     */
                    mode?: "merge" | "replace";
                    actor?: string;
                    source?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "scope": "session",
                     *       "settings": {
                     *         "theme": "dark"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "unchanged";
                        sessionId: string;
                        scope: components["schemas"]["Scope"];
                        key?: string;
                        settings: components["schemas"]["Settings"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The defaults are set by configuration. */
            423: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "locked";
                        /** @constant */
                        scope: "default";
                        message: string;
                        sessionId: string;
                        settings: components["schemas"]["Settings"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    deleteSessionSetting: {
        parameters: {
            query?: {
                /** @description Whose settings. */
                scope?: components["parameters"]["settingsScope"];
                /** @description Who changes it, for the audit entry. */
                actor?: components["parameters"]["actor"];
                /** @description Through what, for the audit entry. */
                source?: components["parameters"]["source"];
            };
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The setting's key, escaped. */
                key: components["parameters"]["key"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "scope": "session",
                     *       "settings": {},
                     *       "key": "theme",
                     *       "removed": true
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "unchanged";
                        sessionId: string;
                        scope: components["schemas"]["Scope"];
                        key?: string;
                        settings: components["schemas"]["Settings"];
                    } & {
                        removed: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            /** @description The defaults are set by configuration. */
            423: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "locked";
                        /** @constant */
                        scope: "default";
                        message: string;
                        sessionId: string;
                        settings: components["schemas"]["Settings"];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    listProjectOrchestratorJobs: {
        parameters: {
            query?: {
                /** @description Only these. */
                state?: components["schemas"]["JobState"];
            };
            header?: never;
            path: {
                /** @description The project's id. */
                projectId: components["parameters"]["projectId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "job-1",
                     *           "type": "agent_instruction",
                     *           "version": 0,
                     *           "projectId": "p-1",
                     *           "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *           "priority": "interactive",
                     *           "state": "queued",
                     *           "dedupeKey": null,
                     *           "payload": {},
                     *           "result": {},
                     *           "error": null,
                     *           "attempts": 1,
                     *           "maxAttempts": 3,
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "startedAt": null,
                     *           "completedAt": null,
                     *           "cancelRequestedAt": null,
                     *           "nextAttemptAt": null,
                     *           "lastAttemptAt": null,
                     *           "runningContext": {
                     *             "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *             "turnId": "turn-1"
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Job"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    getOrchestratorJob: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The job's id. */
                jobId: components["parameters"]["jobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "job": {
                     *         "id": "job-1",
                     *         "type": "agent_instruction",
                     *         "version": 0,
                     *         "projectId": "p-1",
                     *         "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "priority": "interactive",
                     *         "state": "queued",
                     *         "dedupeKey": null,
                     *         "payload": {},
                     *         "result": {},
                     *         "error": null,
                     *         "attempts": 1,
                     *         "maxAttempts": 3,
                     *         "createdAt": "2026-01-02T03:04:05.678Z",
                     *         "startedAt": null,
                     *         "completedAt": null,
                     *         "cancelRequestedAt": null,
                     *         "nextAttemptAt": null,
                     *         "lastAttemptAt": null,
                     *         "runningContext": {
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1"
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        job: components["schemas"]["Job"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description No such job. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "not_found";
                        jobId: string;
                    };
                };
            };
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    cancelOrchestratorJob: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The job's id. */
                jobId: components["parameters"]["jobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "job": {
                     *         "id": "job-1",
                     *         "type": "agent_instruction",
                     *         "version": 0,
                     *         "projectId": "p-1",
                     *         "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "priority": "interactive",
                     *         "state": "queued",
                     *         "dedupeKey": null,
                     *         "payload": {},
                     *         "result": {},
                     *         "error": null,
                     *         "attempts": 1,
                     *         "maxAttempts": 3,
                     *         "createdAt": "2026-01-02T03:04:05.678Z",
                     *         "startedAt": null,
                     *         "completedAt": null,
                     *         "cancelRequestedAt": null,
                     *         "nextAttemptAt": null,
                     *         "lastAttemptAt": null,
                     *         "runningContext": {
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1"
                     *         }
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        job: components["schemas"]["Job"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description No such job. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "not_found";
                        jobId: string;
                    };
                };
            };
            /** @description It is over. The codes `idempotency_...`: the Idempotency-Key that came with it. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "already_terminal";
                        job: components["schemas"]["Job"];
                    } | components["schemas"]["IdempotencyProblem"];
                };
            };
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    uploadPicture: {
        parameters: {
            query?: {
                /** @description What the file is called. */
                name?: string;
            };
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/octet-stream": string;
            };
        };
        responses: {
            /** @description It is kept. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "image": "upload:0198c0de-0000-7000-8000-000000000009",
                     *       "name": "screen.png",
                     *       "contentType": "image/png",
                     *       "size": 48213,
                     *       "hash": "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                     *     }
                     */
                    "application/json": components["schemas"]["Upload"];
                };
            };
            400: components["responses"]["Invalid"];
            410: components["responses"]["Deleted"];
            /** @description It is longer than 5 MiB. */
            413: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    readImage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description As the transcript names it. */
                imageId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The image. */
            200: {
                headers: {
                    /** @description The hash of its bytes. */
                    ETag?: string;
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description The part asked for with `Range`. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "*/*": string;
                };
            };
            /** @description It is the one that `If-None-Match` names. */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description The session has no such image. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    listQueuedMessages: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "data": [
                     *         {
                     *           "id": "q-1",
                     *           "text": "And then the docs",
                     *           "images": 0,
                     *           "state": "queued",
                     *           "error": null,
                     *           "createdAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MessageQueue"];
                };
            };
            400: components["responses"]["Invalid"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    queueMessage: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "And then the docs"
                 *     }
                 */
                "application/json": {
                    text: string;
                    model?: string;
                    effort?: string;
                    approvalPolicy?: components["schemas"]["ApprovalPolicy"];
                    /** @enum {string} */
                    networkAccess?: "restricted" | "enabled";
                    /** @enum {string} */
                    filesystemSandbox?: "read-only" | "workspace-write" | "danger-full-access";
                    images?: string[];
                };
            };
        };
        responses: {
            /** @description It waits, or is sent already. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "accepted",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "id": "q-1",
                     *       "data": [
                     *         {
                     *           "id": "q-1",
                     *           "text": "And then the docs",
                     *           "images": 0,
                     *           "state": "queued",
                     *           "error": null,
                     *           "createdAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MessageQueue"];
                };
            };
            400: components["responses"]["Invalid"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    dropQueuedMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The message's id in the queue. */
                messageId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "data": [
                     *         {
                     *           "id": "q-1",
                     *           "text": "And then the docs",
                     *           "images": 0,
                     *           "state": "queued",
                     *           "error": null,
                     *           "createdAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MessageQueue"];
                };
            };
            400: components["responses"]["Invalid"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    editQueuedMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The message's id in the queue. */
                messageId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "text": "And the changelog"
                 *     }
                 */
                "application/json": {
                    text: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "data": [
                     *         {
                     *           "id": "q-1",
                     *           "text": "And then the docs",
                     *           "images": 0,
                     *           "state": "queued",
                     *           "error": null,
                     *           "createdAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MessageQueue"];
                };
            };
            400: components["responses"]["Invalid"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    moveQueuedMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The message's id in the queue. */
                messageId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "before": "q-2"
                 *     }
                 */
                "application/json": {
                    before?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "data": [
                     *         {
                     *           "id": "q-1",
                     *           "text": "And then the docs",
                     *           "images": 0,
                     *           "state": "queued",
                     *           "error": null,
                     *           "createdAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["MessageQueue"];
                };
            };
            400: components["responses"]["Invalid"];
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    sendQueuedMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The message's id in the queue. */
                messageId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "data": []
                     *     }
                     */
                    "application/json": components["schemas"]["MessageQueue"];
                };
            };
            410: components["responses"]["Deleted"];
            default: components["responses"]["Error"];
        };
    };
    listJobs: {
        parameters: {
            query?: {
                /** @description Only those in this state. */
                state?: "queued" | "running" | "completed" | "failed" | "canceled";
                /** @description Only those of this type. */
                type?: string;
                /** @description Only those of this project, or of `session:<id>`. */
                project?: string;
                /** @description Only those that this session asked for. */
                session?: string;
                /** @description Only what is as old as this or younger: a time as RFC 3339, or a day (UTC). */
                since?: string;
                /** @description Only what is older than this. */
                until?: string;
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description How many at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "job-1",
                     *           "type": "agent_instruction",
                     *           "version": 0,
                     *           "projectId": "p-1",
                     *           "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *           "priority": "interactive",
                     *           "state": "queued",
                     *           "dedupeKey": null,
                     *           "payload": {},
                     *           "result": {},
                     *           "error": null,
                     *           "attempts": 1,
                     *           "maxAttempts": 3,
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "startedAt": null,
                     *           "completedAt": null,
                     *           "cancelRequestedAt": null,
                     *           "nextAttemptAt": null,
                     *           "lastAttemptAt": null,
                     *           "runningContext": {
                     *             "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *             "turnId": "turn-1"
                     *           }
                     *         }
                     *       ],
                     *       "nextCursor": null,
                     *       "counts": {
                     *         "queued": 1,
                     *         "running": 0,
                     *         "completed": 0,
                     *         "failed": 0,
                     *         "canceled": 0
                     *       }
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Job"][];
                        nextCursor: string | null;
                        /** @description All jobs of the other filters by state, whatever `state` selects. */
                        counts: {
                            queued: number;
                            running: number;
                            completed: number;
                            failed: number;
                            canceled: number;
                        };
                    };
                };
            };
            400: components["responses"]["Invalid"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    cancelJobs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "state": "queued",
                 *       "type": "agent_instruction"
                 *     }
                 */
                "application/json": {
                    /** @enum {string} */
                    state?: "queued" | "running" | "completed" | "failed" | "canceled";
                    type?: string;
                    project?: string;
                    session?: string;
                    /** @description A time as RFC 3339, or a day (UTC). */
                    since?: string;
                    until?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "jobs": [
                     *         {
                     *           "id": "job-1",
                     *           "type": "agent_instruction",
                     *           "version": 0,
                     *           "projectId": "p-1",
                     *           "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *           "priority": "interactive",
                     *           "state": "canceled",
                     *           "dedupeKey": null,
                     *           "payload": {},
                     *           "result": {},
                     *           "error": null,
                     *           "attempts": 1,
                     *           "maxAttempts": 3,
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "startedAt": null,
                     *           "completedAt": null,
                     *           "cancelRequestedAt": null,
                     *           "nextAttemptAt": null,
                     *           "lastAttemptAt": null,
                     *           "runningContext": {
                     *             "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *             "turnId": "turn-1"
                     *           }
                     *         }
                     *       ],
                     *       "more": false
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        /** @description What was canceled; a running one ends soon after. */
                        jobs: components["schemas"]["Job"][];
                        /** @description The filter has more; ask again. */
                        more: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    runJobAgain: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The job's id. */
                jobId: components["parameters"]["jobId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description It is queued. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "job": {
                     *         "id": "job-1",
                     *         "type": "agent_instruction",
                     *         "version": 0,
                     *         "projectId": "p-1",
                     *         "sourceSessionId": "0198c0de-0000-7000-8000-000000000001",
                     *         "priority": "interactive",
                     *         "state": "queued",
                     *         "dedupeKey": null,
                     *         "payload": {},
                     *         "result": {},
                     *         "error": null,
                     *         "attempts": 1,
                     *         "maxAttempts": 3,
                     *         "createdAt": "2026-01-02T03:04:05.678Z",
                     *         "startedAt": null,
                     *         "completedAt": null,
                     *         "cancelRequestedAt": null,
                     *         "nextAttemptAt": null,
                     *         "lastAttemptAt": null,
                     *         "runningContext": {
                     *           "threadId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1"
                     *         }
                     *       },
                     *       "dedupe": "enqueued"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        job: components["schemas"]["Job"];
                        /** @enum {string} */
                        dedupe: "enqueued" | "already_queued";
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description No such job. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "not_found";
                        jobId: string;
                    };
                };
            };
            503: components["responses"]["Unavailable"];
            default: components["responses"]["Error"];
        };
    };
    listEvents: {
        parameters: {
            query?: {
                /** @description What follows this position on the stream. Not together with `before`. */
                after?: number;
                /** @description What was before this position. */
                before?: number;
                /** @description Only those of this session. */
                session?: string;
                /** @description Only those of this type; with a `*` at its end those whose type begins so. */
                type?: string;
                /** @description Only those that this one caused. */
                actor?: string;
                /** @description Only what is as old as this or younger: a time as RFC 3339, or a day (UTC). */
                since?: string;
                /** @description Only what is older than this. */
                until?: string;
                /** @description How many at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "pos": 4719,
                     *           "seq": 3,
                     *           "time": "2026-01-02T03:04:05.678Z",
                     *           "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *           "turnId": "turn-1",
                     *           "itemId": null,
                     *           "type": "turn/started",
                     *           "source": "codex",
                     *           "actor": null,
                     *           "bytes": 2,
                     *           "payload": {}
                     *         }
                     *       ],
                     *       "next": null,
                     *       "pos": 4719
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Event"][];
                        /** @description The `after` or `before` that reads on; null at the end. A page that is not full may have one: what is looked through at once is bounded. */
                        next: number | null;
                        pos: components["schemas"]["StreamPosition"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    readEvent: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Its position on the stream. */
                pos: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "pos": 4719,
                     *       "seq": 3,
                     *       "time": "2026-01-02T03:04:05.678Z",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "turnId": "turn-1",
                     *       "itemId": null,
                     *       "type": "turn/started",
                     *       "source": "codex",
                     *       "actor": null,
                     *       "bytes": 2,
                     *       "payload": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Event"];
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    readUsage: {
        parameters: {
            query?: {
                /** @description What it is added up by. */
                by?: "day" | "project" | "session" | "runtime";
                /** @description Only what is as old as this or younger: a time as RFC 3339, or a day (UTC). */
                since?: string;
                /** @description Only what is older than this. */
                until?: string;
                /** @description Only what was used in this project; `none` for none. */
                project?: string;
                /** @description Only what this session used. */
                session?: string;
                /** @description Only what was used with this runtime. */
                runtime?: string;
                /** @description How many at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "by": "day",
                     *       "data": [
                     *         {
                     *           "key": "2026-01-02",
                     *           "requests": 12,
                     *           "totalTokens": 48000,
                     *           "inputTokens": 40000,
                     *           "cachedInputTokens": 30000,
                     *           "outputTokens": 8000,
                     *           "reasoningOutputTokens": 2000
                     *         }
                     *       ],
                     *       "total": {
                     *         "requests": 12,
                     *         "totalTokens": 48000,
                     *         "inputTokens": 40000,
                     *         "cachedInputTokens": 30000,
                     *         "outputTokens": 8000,
                     *         "reasoningOutputTokens": 2000
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        by: "day" | "project" | "session" | "runtime";
                        /** @description The largest first, by day the newest. */
                        data: components["schemas"]["Usage"][];
                        total: components["schemas"]["Usage"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    search: {
        parameters: {
            query: {
                /** @description Words, at most 32 different ones. */
                q: string;
                /** @description Only sessions of this project. */
                project?: string;
                /** @description Only this session. */
                session?: string;
                /** @description The `nextCursor` of the page before. */
                cursor?: string;
                /** @description How many at most. */
                limit?: number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "sessionId": "0190a1b2-0000-7000-8000-000000000001",
                     *           "title": "Fix the lock",
                     *           "entryId": "item-1",
                     *           "turnId": "turn-1",
                     *           "role": "assistant",
                     *           "type": "agentMessage",
                     *           "time": "2026-01-02T03:04:05.678Z",
                     *           "snippet": "The hub takes its lock twice.",
                     *           "marks": [
                     *             {
                     *               "start": 18,
                     *               "end": 22
                     *             }
                     *           ]
                     *         }
                     *       ],
                     *       "nextCursor": null,
                     *       "behind": false
                     *     }
                     */
                    "application/json": {
                        /** @description What came last first. */
                        data: components["schemas"]["SearchHit"][];
                        /** @description For the next page, null when there is none. */
                        nextCursor: string | null;
                        /** @description Hits may be missing. */
                        behind: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    listRuntimes: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "name": "codex",
                     *           "default": true,
                     *           "state": "ready",
                     *           "processes": [
                     *             {
                     *               "pid": 4242,
                     *               "state": "ready"
                     *             }
                     *           ],
                     *           "waiting": 0,
                     *           "status": "active",
                     *           "capabilities": {},
                     *           "limits": {
                     *             "turns": 0,
                     *             "maxTurns": 0,
                     *             "messages": 0,
                     *             "maxMessages": 0,
                     *             "maxSessionMessages": 0,
                     *             "waiting": 0
                     *           },
                     *           "auth": {
                     *             "state": "found",
                     *             "credentials": [
                     *               "apiKey"
                     *             ],
                     *             "login": true,
                     *             "logins": [
                     *               "page"
                     *             ]
                     *           }
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @description The default one first. */
                        data: components["schemas"]["Runtime"][];
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    readRuntime: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One of the server's runtimes. */
                runtime: components["parameters"]["runtimeName"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "name": "codex",
                     *       "default": true,
                     *       "state": "ready",
                     *       "processes": [
                     *         {
                     *           "pid": 4242,
                     *           "state": "ready",
                     *           "startedAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ],
                     *       "waiting": 0,
                     *       "status": "active",
                     *       "capabilities": {
                     *         "implicitSources": [
                     *           "all",
                     *           "home"
                     *         ]
                     *       },
                     *       "limits": {
                     *         "turns": 0,
                     *         "maxTurns": 0,
                     *         "messages": 0,
                     *         "maxMessages": 0,
                     *         "maxSessionMessages": 0,
                     *         "waiting": 0
                     *       },
                     *       "auth": {
                     *         "state": "found",
                     *         "credentials": [
                     *           "apiKey"
                     *         ],
                     *         "login": true,
                     *         "logins": [
                     *           "page"
                     *         ]
                     *       },
                     *       "models": [
                     *         {
                     *           "id": "codex",
                     *           "name": "codex",
                     *           "default": true,
                     *           "efforts": [
                     *             "medium"
                     *           ],
                     *           "images": true
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["Runtime"] & {
                        models: components["schemas"]["Model"][];
                        /** @description Why there are none. */
                        modelsReason?: string;
                    };
                };
            };
            /** @description There is no such runtime (`unknown_runtime`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    loginRuntime: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description One of the server's runtimes. */
                runtime: components["parameters"]["runtimeName"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "apiKey": "sk-xyz",
                 *       "provider": "openai"
                 *     }
                 */
                "application/json": {
                    id?: string;
                    /** @description What the page showed. */
                    code?: string;
                    /** @description A key of a model provider; not with `code`. */
                    apiKey?: string;
                    /** @description Whose key it is, of a runtime with several; without, that of the configured model. */
                    provider?: string;
                };
            };
        };
        responses: {
            /** @description It has begun (`url`), or ended (`completed`). */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "url": "https://example.com/login"
                     *     }
                     */
                    "application/json": {
                        id?: string;
                        url?: string;
                        code?: string;
                        expectsCode?: boolean;
                        completed?: boolean;
                        /** @description Whose key was taken. */
                        provider?: string;
                        /** @description Of a key: the agent has written it into its home. Otherwise it is in memory, and to be sent again after a restart. */
                        stored?: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description There is no such runtime (`unknown_runtime`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The runtime has no such login (`unsupported_by_runtime`), or cannot take it now (`invalid_state`). */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    getCapabilities: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description Ask the runtime again first. */
                refresh?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "runtime": {
                     *         "initialized": true,
                     *         "capabilitiesLastUpdatedAt": "2026-01-02T03:04:05.678Z"
                     *       },
                     *       "methods": {},
                     *       "details": {},
                     *       "features": {}
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        runtime: {
                            initialized: boolean;
                            capabilitiesLastUpdatedAt: string | null;
                        };
                        methods: {
                            [key: string]: components["schemas"]["MethodState"];
                        };
                        details: {
                            [key: string]: {
                                status: components["schemas"]["MethodState"];
                                reason: string | null;
                            };
                        };
                        features: {
                            [key: string]: boolean;
                        };
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    listModels: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description Page size. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [],
                     *       "nextCursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["Invalid"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listExperimentalFeatures: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description Page size. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [],
                     *       "nextCursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listCollaborationModes: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description Page size. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [],
                     *       "nextCursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listApps: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description Page size. */
                limit?: components["parameters"]["limit"];
                /** @description As seen by this session. */
                threadId?: string;
                /** @description Not from the cache. */
                forceRefetch?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [],
                     *       "nextCursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listSkills: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description Not from the cache. */
                forceReload?: "true" | "false";
                /** @description Of this directory. */
                cwd?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": []
                     *     }
                     */
                    "application/json": {
                        data: unknown[];
                        nextCursor?: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    writeSkillConfig: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "path": "/srv/web/AGENTS.md",
                 *       "enabled": true
                 *     }
                 */
                "application/json": {
                    path: string;
                    enabled: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    readRemoteSkills: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": []
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    writeRemoteSkills: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "hazelnutId": "skill-1",
                 *       "isPreload": true
                 *     }
                 */
                "application/json": {
                    hazelnutId: string;
                    isPreload: boolean;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    listMcpServers: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description `nextCursor` of the page before. */
                cursor?: components["parameters"]["cursor"];
                /** @description Page size. */
                limit?: components["parameters"]["limit"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [],
                     *       "nextCursor": null
                     *     }
                     */
                    "application/json": components["schemas"]["Page"];
                };
            };
            400: components["responses"]["Invalid"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    reloadMcpConfig: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    startMcpOauthLogin: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path: {
                /** @description Name of a configured MCP server. */
                serverName: components["parameters"]["serverName"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "timeoutSecs": 60
                 *     }
                 */
                "application/json": {
                    scopes?: string[];
                    timeoutSecs?: components["schemas"]["WholeNumber"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    executeCommand: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "command": [
                 *         "go",
                 *         "test",
                 *         "./..."
                 *       ],
                 *       "cwd": "/srv/web"
                 *     }
                 */
                "application/json": {
                    command: string[];
                    cwd?: string;
                    timeoutMs?: components["schemas"]["WholeNumber"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    uploadFeedback: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "classification": "bug",
                 *       "includeLogs": true
                 *     }
                 */
                "application/json": {
                    classification: string;
                    includeLogs: boolean;
                    reason?: string;
                    threadId?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    readConfig: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
                /** @description As seen from this directory. */
                cwd?: string;
                /** @description And where each value comes from. */
                includeLayers?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "config": {
                     *         "model": "gpt-5.2-codex"
                     *       }
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    readConfigRequirements: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "requirements": null
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    writeConfigValue: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "keyPath": "model",
                 *       "mergeStrategy": "replace",
                 *       "value": "dark"
                 *     }
                 */
                "application/json": {
                    keyPath: string;
                    /** @enum {string} */
                    mergeStrategy: "replace" | "upsert";
                    value: unknown;
                    expectedVersion?: string;
                    filePath?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    writeConfigBatch: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "edits": [
                 *         {
                 *           "keyPath": "model",
                 *           "mergeStrategy": "replace",
                 *           "value": "dark"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": {
                    edits: {
                        keyPath: string;
                        /** @enum {string} */
                        mergeStrategy: "replace" | "upsert";
                        value: unknown;
                    }[];
                    expectedVersion?: string;
                    filePath?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    readAccount: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "account": null,
                     *       "requiresOpenaiAuth": true
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    readAccountRateLimits: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "rateLimits": {}
                     *     }
                     */
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    startAccountLogin: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "type": "apiKey",
                 *       "apiKey": "sk-EXAMPLE"
                 *     }
                 */
                "application/json": {
                    /** @constant */
                    type: "apiKey";
                    apiKey: string;
                } | {
                    /** @constant */
                    type: "chatgpt";
                } | {
                    /** @constant */
                    type: "chatgptAuthTokens";
                    accessToken: string;
                    chatgptAccountId: string;
                    chatgptPlanType?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    cancelAccountLogin: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "loginId": "login-1"
                 *     }
                 */
                "application/json": {
                    loginId: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    logoutAccount: {
        parameters: {
            query?: {
                /** @description One of the server's runtimes. Without it models and capabilities are those of the default one, and routes about codex alone answer for codex; of another runtime those are 501 `not_supported`, its name in `details.runtime`. Unknown: 400 with the known ones. */
                runtime?: components["parameters"]["runtimeChoice"];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "result": {}
                     *     }
                     */
                    "application/json": components["schemas"]["Result"];
                };
            };
            400: components["responses"]["Invalid"];
            401: components["responses"]["Unauthenticated"];
            409: components["responses"]["InvalidState"];
            501: components["responses"]["NotSupported"];
            503: components["responses"]["Unavailable"];
            504: components["responses"]["Timeout"];
            default: components["responses"]["Error"];
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "token": "hrn_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
                 *     }
                 */
                "application/json": {
                    /** @description The owner's token, HARNESS_AUTH_TOKEN, the secret of a named token, a signed token (JWT), or what is behind `#link=` in a one-time link. */
                    token: string;
                };
            };
        };
        responses: {
            200: components["responses"]["Me"];
            400: components["responses"]["Invalid"];
            /** @description The token is none of this server's, was revoked or has expired (`unauthorized`), is of a link that does not count any more (`link_not_valid`), or is signed and does not hold (`invalid_bearer_token`, `missing_exp_claim`). */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description A signed token has no role or no list of projects that is known here (`invalid_role_claim`, `invalid_projects_claim`). */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    createLoginLink: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Made. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "url": "http://127.0.0.1:3001/login#link=hrk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
                     *       "expiresAt": "2026-01-02T03:09:05.678Z"
                     *     }
                     */
                    "application/json": {
                        /** @description It lets whoever opens it in: keep it secret. */
                        url: string;
                        /** Format: date-time */
                        expiresAt: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description This request shows no token, so that there is none to hand on, and none is needed (`no_token_shown`). */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    getLoginMethods: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "providers": [
                     *         {
                     *           "name": "corp",
                     *           "url": "/api/login/oidc/corp"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        providers: {
                            name: string;
                            /** @description Where a browser goes to log in, below HARNESS_BASE_PATH. */
                            url: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            default: components["responses"]["Error"];
        };
    };
    beginLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A provider of HARNESS_OIDC_FILE. */
                provider: components["parameters"]["provider"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the provider. */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description There is no provider of that name to log in at (`login_provider_not_found`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The provider does not answer as one (`login_provider_unavailable`). */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    finishLogin: {
        parameters: {
            query?: {
                state?: string;
                code?: string;
                iss?: string;
                error?: string;
                error_description?: string;
            };
            header?: never;
            path: {
                /** @description A provider of HARNESS_OIDC_FILE. */
                provider: components["parameters"]["provider"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description To the console. */
            303: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description This browser began no such login, or the answer is of another login (`invalid_login_state`). */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The ID token does not hold (`invalid_bearer_token`). */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The provider refuses the login (`login_refused`), or gives no role that is known here (`invalid_role_claim`). */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no provider of that name to log in at (`login_provider_not_found`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The provider does not answer as one (`login_provider_unavailable`). */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    endLogins: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A provider of HARNESS_OIDC_FILE. */
                provider: components["parameters"]["provider"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/x-www-form-urlencoded": {
                    logout_token: string;
                };
            };
        };
        responses: {
            /** @description None of them counts any more. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            400: components["responses"]["LogoutRefused"];
            /** @description There is no provider of that name to log in at (`login_provider_not_found`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            503: components["responses"]["LogoutRefused"];
            default: components["responses"]["Error"];
        };
    };
    beginDeviceLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A provider of HARNESS_OIDC_FILE. */
                provider: components["parameters"]["provider"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "deviceCode": "Ag_EE",
                     *       "userCode": "WDJB-MJHT",
                     *       "verificationUri": "https://id.example/device",
                     *       "interval": 5,
                     *       "expiresIn": 600
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        deviceCode: string;
                        userCode: string;
                        verificationUri: string;
                        /** @description Has the code entered. */
                        verificationUriComplete?: string;
                        /** @description Seconds between two questions. */
                        interval: number;
                        /** @description Seconds until the codes end. */
                        expiresIn: number;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description The provider refuses the login (`login_refused`), or gives no role that is known here (`invalid_role_claim`). */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no provider of that name to log in at (`login_provider_not_found`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The provider does not answer as one (`login_provider_unavailable`). */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    finishDeviceLogin: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description A provider of HARNESS_OIDC_FILE. */
                provider: components["parameters"]["provider"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "deviceCode": "Ag_EE"
                 *     }
                 */
                "application/json": {
                    deviceCode: string;
                };
            };
        };
        responses: {
            /** @description Confirmed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "secret": "hrs_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
                     *       "actor": "oidc:corp:248289",
                     *       "name": "Ann Lee",
                     *       "role": "operator",
                     *       "expiresAt": "2026-01-02T15:04:05.678Z"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        secret: string;
                        actor: string;
                        name: string;
                        role: string;
                        /** @description When the login ends unless the provider confirms it before, which happens by itself. */
                        expiresAt: string;
                    };
                };
            };
            /** @description Not confirmed yet. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "pending",
                     *       "slowDown": false
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "pending";
                        /** @description Ask 5 seconds later than before from now on. */
                        slowDown: boolean;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            /** @description The ID token does not hold (`invalid_bearer_token`). */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description The provider refuses the login (`login_refused`), or gives no role that is known here (`invalid_role_claim`). */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description There is no provider of that name to log in at (`login_provider_not_found`). */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The provider does not answer as one (`login_provider_unavailable`). */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                    };
                };
            };
            400: components["responses"]["Invalid"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["Me"];
            400: components["responses"]["Invalid"];
            /** @description A token is needed here: log in (`unauthorized`). */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    listPeople: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "actor": "oidc:corp:248289",
                     *           "name": "Ann Lee"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: {
                            /** @description As it stands in decisions, events and the audit log. */
                            actor: string;
                            name: string;
                        }[];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            default: components["responses"]["Error"];
        };
    };
    listTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "id": "0198c0de-0000-7000-8000-000000000001",
                     *           "name": "nightly",
                     *           "role": "ci",
                     *           "state": "active",
                     *           "createdAt": "2026-01-02T03:04:05.678Z",
                     *           "createdBy": "local",
                     *           "expiresAt": "2026-04-02T03:04:05.678Z",
                     *           "revokedAt": null
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["Token"][];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            default: components["responses"]["Error"];
        };
    };
    createToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "name": "nightly",
                 *       "role": "ci",
                 *       "expiresAt": "2026-04-02T03:04:05Z"
                 *     }
                 */
                "application/json": {
                    name: string;
                    role: components["schemas"]["TokenRole"];
                    /**
                     * Format: date-time
                     * @description A time to come; absent or null for never.
                     */
                    expiresAt?: string | null;
                    /** @description Ids of the projects it is limited to; absent for no limit. It sees and changes what belongs to them, and nothing else. */
                    projects?: string[];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "token": {
                     *         "id": "0198c0de-0000-7000-8000-000000000001",
                     *         "name": "nightly",
                     *         "role": "ci",
                     *         "state": "active",
                     *         "createdAt": "2026-01-02T03:04:05.678Z",
                     *         "createdBy": "local",
                     *         "expiresAt": "2026-04-02T03:04:05.678Z",
                     *         "revokedAt": null
                     *       },
                     *       "secret": "hrn_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        token: components["schemas"]["Token"];
                        /** @description What is sent as `Authorization: Bearer`. */
                        secret: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            /** @description A token that was not revoked has the name (`name_taken`). */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    revokeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token's id. */
                tokenId: components["parameters"]["tokenId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: components["responses"]["TokenChanged"];
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            404: components["responses"]["TokenNotFound"];
            default: components["responses"]["Error"];
        };
    };
    changeToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The token's id. */
                tokenId: components["parameters"]["tokenId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "role": "viewer"
                 *     }
                 */
                "application/json": {
                    role: components["schemas"]["TokenRole"];
                };
            };
        };
        responses: {
            200: components["responses"]["TokenChanged"];
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            404: components["responses"]["TokenNotFound"];
            /** @description It was revoked (`token_revoked`). */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    readServerSettings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "data": [
                     *         {
                     *           "name": "PORT",
                     *           "value": "3001",
                     *           "source": "default"
                     *         },
                     *         {
                     *           "name": "HARNESS_AUTH_TOKEN",
                     *           "value": "[redacted]",
                     *           "source": "environment"
                     *         }
                     *       ],
                     *       "defaults": {
                     *         "model": "gpt-5.2-codex",
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {
                     *           "theme": "dark"
                     *         }
                     *       },
                     *       "defaultsEditable": true,
                     *       "defaultLockReason": null
                     *     }
                     */
                    "application/json": {
                        data: {
                            name: string;
                            /** @description As it would be written in the environment. */
                            value: string;
                            /**
                             * @description Where it was set.
                             * @enum {string}
                             */
                            source: "flag" | "environment" | ".env" | "file" | "default";
                        }[];
                        defaults: components["schemas"]["Controls"];
                        defaultsEditable: boolean;
                        defaultLockReason: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            default: components["responses"]["Error"];
        };
    };
    setServerDefaults: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "defaults": {
                 *         "model": null,
                 *         "approvalPolicy": "on-request",
                 *         "networkAccess": "restricted",
                 *         "filesystemSandbox": "workspace-write"
                 *       }
                 *     }
                 */
                "application/json": {
                    defaults: components["schemas"]["ControlsWish"];
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "defaults": {
                     *         "model": null,
                     *         "approvalPolicy": "on-request",
                     *         "networkAccess": "restricted",
                     *         "filesystemSandbox": "workspace-write",
                     *         "settings": {}
                     *       },
                     *       "defaultsEditable": true,
                     *       "defaultLockReason": null
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "unchanged";
                        defaults: components["schemas"]["Controls"];
                        defaultsEditable: boolean;
                        defaultLockReason: string | null;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            /** @description The defaults are set by configuration. */
            423: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "locked";
                        message: string;
                        defaults: components["schemas"]["Controls"];
                        defaultsEditable: boolean;
                        defaultLockReason: string | null;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    listPushSubscriptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "publicKey": "BPc1d6K9tU0Q3f2m0nJ0l4VvQ0sWn8y1cZk3vJm8o2Zt5r1d0uX9b7a6e5f4g3h2i1j0k9l8m7n6o5p4q3r2s1t0",
                     *       "data": [
                     *         {
                     *           "id": "push_0198c0de-0000-7000-8000-000000000001",
                     *           "service": "fcm.googleapis.com",
                     *           "createdAt": "2026-01-02T03:04:05.678Z"
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        data: components["schemas"]["PushSubscription"][];
                        /** @description A point of P-256, as base64url. */
                        publicKey: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            default: components["responses"]["Error"];
        };
    };
    subscribeToPush: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "endpoint": "https://fcm.googleapis.com/fcm/send/abc",
                 *       "keys": {
                 *         "p256dh": "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM",
                 *         "auth": "tBHItJI5svbpez7KI4CCXg"
                 *       }
                 *     }
                 */
                "application/json": {
                    /** @description Of one of the push services this server sends to. */
                    endpoint: string;
                    keys: {
                        p256dh: string;
                        auth: string;
                    };
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "subscription": {
                     *         "id": "push_0198c0de-0000-7000-8000-000000000001",
                     *         "service": "fcm.googleapis.com",
                     *         "createdAt": "2026-01-02T03:04:05.678Z"
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        subscription: components["schemas"]["PushSubscription"];
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    unsubscribeFromPush: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The subscription's id. */
                subscriptionId: components["parameters"]["subscriptionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "subscriptionId": "push_0198c0de-0000-7000-8000-000000000001"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        subscriptionId: string;
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["InsufficientRole"];
            /** @description You have no such subscription. */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "not_found";
                        subscriptionId: string;
                    };
                };
            };
            default: components["responses"]["Error"];
        };
    };
    listAgentExtensions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "snapshotVersion": "snapshot-2",
                     *       "loadedAt": "2026-01-02T03:04:05.678Z",
                     *       "modules": [
                     *         {
                     *           "name": "web",
                     *           "version": "0.1.0",
                     *           "agentId": "agent:web",
                     *           "events": [
                     *             "turn.completed"
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        snapshotVersion: string;
                        loadedAt: string;
                        modules: components["schemas"]["Module"][];
                        /** @description What the last load or reload did not run because the operator did not consent to it; absent when there is nothing. */
                        untrusted?: {
                            extension: string;
                            code: string;
                            message: string;
                        }[];
                    };
                };
            };
            /** @description The role is none we know. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusal"];
                };
            };
            /** @description No credentials, or wrong ones. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusal"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusal"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    reloadAgentExtensions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /** @example {} */
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "reloadId": "reload-2",
                     *       "loadedCount": 0,
                     *       "failedCount": 0,
                     *       "snapshotVersion": "snapshot-2",
                     *       "loadedAt": "2026-01-02T03:04:05.678Z",
                     *       "modules": [
                     *         {
                     *           "name": "web",
                     *           "version": "0.1.0",
                     *           "agentId": "agent:web",
                     *           "events": [
                     *             "turn.completed"
                     *           ]
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        reloadId: string;
                        loadedCount: number;
                        failedCount: number;
                        snapshotVersion: string;
                        loadedAt: string;
                        modules: components["schemas"]["Module"][];
                    };
                };
            };
            /** @description One could not be loaded; the ones before stay. Or the role is none we know. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "error";
                        code: string;
                        reloadId: string;
                        message: string;
                        snapshotVersion?: string;
                        errors: {
                            extension?: string;
                            code: string;
                            message: string;
                        }[];
                    } | components["schemas"]["Refusal"] | components["schemas"]["Invalid"];
                };
            };
            /** @description No credentials, or wrong ones. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusal"];
                };
            };
            /** @description The role does not allow it. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Refusal"];
                };
            };
            /** @description A reload is under way. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "error";
                        code: string;
                        reloadId: string;
                        message: string;
                        snapshotVersion?: string;
                        errors: {
                            extension?: string;
                            code: string;
                            message: string;
                        }[];
                    };
                };
            };
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    enqueueSuggestedSessionRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "draft": "Run the"
                 *     }
                 */
                "application/json": {
                    model?: string;
                    effort?: components["schemas"]["Effort"];
                    draft?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "queued",
                     *       "jobId": "job-1",
                     *       "requestKey": "key-1",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "projectId": "p-1",
                     *       "dedupe": "enqueued"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "queued";
                        jobId: string;
                        requestKey: string;
                        sessionId: string;
                        projectId: string;
                        /** @enum {string} */
                        dedupe: "enqueued" | "already_queued";
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            /** @description Nothing to suggest from, or nobody took the job. The codes `idempotency_...`: the Idempotency-Key that came with it. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProblem"] | components["schemas"]["SessionStatus"] | components["schemas"]["IdempotencyProblem"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            /** @description The queue is full. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProblem"];
                };
            };
            /** @description The queue is off. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProblem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    suggestSessionRequest: {
        parameters: {
            query?: never;
            header?: {
                /** @description Names this request of yours, so that it can be sent again when its answer did not arrive: it is done once, and answered the same for 24 h, then with `Idempotency-Replayed: true`. Use a new one (a UUID) for every request. 409 with a `Problem` whose `code` is `idempotency_key_reused` (another path, query or body came with it), `idempotency_key_in_use` (under way; `Retry-After`) or `idempotency_outcome_unknown` (the server ended meanwhile: look whether it was done). */
                "Idempotency-Key"?: components["parameters"]["idempotencyKey"];
            };
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "draft": "Run the"
                 *     }
                 */
                "application/json": {
                    model?: string;
                    effort?: components["schemas"]["Effort"];
                    draft?: string;
                };
            };
        };
        responses: {
            /** @description The suggestion, as soon as it is stored, whoever stores it. `ok` is a worker's text; `fallback` is the draft, or a general next step, when the job ended without one. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "requestKey": "key-1",
                     *       "suggestion": "Run the linter, too."
                     *     }
                     */
                    "application/json": {
                        /** @enum {string} */
                        status: "ok" | "fallback";
                        sessionId: string;
                        requestKey: string;
                        suggestion: string;
                    };
                };
            };
            /** @description Not there yet; the stream tells it. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "queued",
                     *       "jobId": "job-1",
                     *       "requestKey": "key-1",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "projectId": "p-1",
                     *       "dedupe": "enqueued"
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "queued";
                        jobId: string;
                        requestKey: string;
                        sessionId: string;
                        projectId: string;
                        /** @enum {string} */
                        dedupe: "enqueued" | "already_queued";
                    };
                };
            };
            400: components["responses"]["Invalid"];
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            /** @description Nothing to suggest from, or nobody took the job. The codes `idempotency_...`: the Idempotency-Key that came with it. `workspace_pinned`, `memory_pinned`: its node is dead, and it cannot go on here. */
            409: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProblem"] | components["schemas"]["SessionStatus"] | components["schemas"]["IdempotencyProblem"] | components["schemas"]["Pinned"];
                };
            };
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            421: components["responses"]["NotOwner"];
            /** @description The queue is full. */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProblem"];
                };
            };
            /** @description The queue is off. */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QueueProblem"];
                };
            };
            default: components["responses"]["Error"];
        };
    };
    upsertSuggestedSessionRequest: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                /**
                 * @example {
                 *       "requestKey": "key-1",
                 *       "status": "complete"
                 *     }
                 */
                "application/json": {
                    requestKey: string;
                    status: components["schemas"]["EntryStatus"];
                    suggestion?: string;
                    error?: string;
                };
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "status": "ok",
                     *       "sessionId": "0198c0de-0000-7000-8000-000000000001",
                     *       "requestKey": "key-1",
                     *       "entry": {
                     *         "status": "complete",
                     *         "updatedAt": 1767323045
                     *       }
                     *     }
                     */
                    "application/json": {
                        /** @constant */
                        status: "ok";
                        sessionId: string;
                        requestKey: string;
                        entry: components["schemas"]["Suggestion"];
                    };
                };
            };
            /** @description Not valid, or complete without a suggestion. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Invalid"] | {
                        /** @constant */
                        status: "invalid_request";
                        /** @constant */
                        code: "missing_suggestion";
                    };
                };
            };
            403: components["responses"]["SystemSession"];
            404: components["responses"]["SessionNotFound"];
            410: components["responses"]["Deleted"];
            413: components["responses"]["Unreadable"];
            415: components["responses"]["UnsupportedMediaType"];
            default: components["responses"]["Error"];
        };
    };
    getTaskApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": components["schemas"]["TaskObject"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    getTaskHealth: {
        parameters: {
            query?: {
                /** @description One runtime; all of them without. */
                runtime?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": components["schemas"]["TaskObject"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    getTaskCapabilities: {
        parameters: {
            query?: {
                /** @description One runtime; all of them without. */
                runtime?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": components["schemas"]["TaskObject"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    getTaskAuth: {
        parameters: {
            query?: {
                /** @description One runtime; all of them without. */
                runtime?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /** @example {} */
                    "application/json": components["schemas"]["TaskObject"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    listTaskSessions: {
        parameters: {
            query?: {
                /** @description 1 to 500, 100 without. */
                limit?: number;
                /** @description next_after of the page before. */
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "sessions": [
                     *         {
                     *           "session_id": "s-1",
                     *           "runtime": "codex",
                     *           "runtime_session_id": "0198c0de-0000-7000-8000-000000000001",
                     *           "created_at": "2026-01-02T03:04:05.678Z",
                     *           "cwd": "/srv/web",
                     *           "model": "gpt-5.2-codex",
                     *           "permission_mode": "ask",
                     *           "isolation_mode": "subprocess"
                     *         }
                     *       ],
                     *       "next_after": "s-1"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskSessions"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    createTaskSession: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "runtime": "codex",
                 *       "cwd": "/srv/web",
                 *       "model": "gpt-5.2-codex"
                 *     }
                 */
                "application/json": components["schemas"]["TaskSessionCreate"];
            };
        };
        responses: {
            /** @description Done. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session_id": "s-1",
                     *       "runtime": "codex",
                     *       "runtime_session_id": "0198c0de-0000-7000-8000-000000000001",
                     *       "created_at": "2026-01-02T03:04:05.678Z",
                     *       "cwd": "/srv/web",
                     *       "model": "gpt-5.2-codex",
                     *       "permission_mode": "ask",
                     *       "isolation_mode": "subprocess"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskSession"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    getTaskSession: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session_id": "s-1",
                     *       "runtime": "codex",
                     *       "runtime_session_id": "0198c0de-0000-7000-8000-000000000001",
                     *       "created_at": "2026-01-02T03:04:05.678Z",
                     *       "cwd": "/srv/web",
                     *       "model": "gpt-5.2-codex",
                     *       "permission_mode": "ask",
                     *       "isolation_mode": "subprocess"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskSession"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    listTaskEvents: {
        parameters: {
            query?: {
                /** @description Events behind this one; from_seq is the same. */
                after_seq?: number;
                /** @description As after_seq, which wins. */
                from_seq?: number;
                /** @description 1 to 5000, 500 without. */
                limit?: number;
                /** @description 1 for server-sent events. */
                stream?: string;
            };
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "events": [],
                     *       "next_seq": 0
                     *     }
                     */
                    "application/json": components["schemas"]["TaskEvents"];
                    "text/event-stream": string;
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    getSupportBundle: {
        parameters: {
            query?: {
                /** @description The task it is about, which is noted. */
                task_id?: string;
            };
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bundle. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/gzip": string;
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    listTasks: {
        parameters: {
            query?: {
                /** @description 1 to 500, 100 without. */
                limit?: number;
            };
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "tasks": [
                     *         {
                     *           "session_id": "s-1",
                     *           "task_id": "task-1",
                     *           "status": "queued",
                     *           "last_seq": 0
                     *         }
                     *       ]
                     *     }
                     */
                    "application/json": components["schemas"]["TaskList"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    createTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "messages": [
                 *         {
                 *           "role": "user",
                 *           "content": "Make the tests pass"
                 *         }
                 *       ]
                 *     }
                 */
                "application/json": components["schemas"]["TaskCreate"];
            };
        };
        responses: {
            /** @description Done. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session_id": "s-1",
                     *       "task_id": "task-1",
                     *       "status": "started"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskAccepted"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    getTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The task. */
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session_id": "s-1",
                     *       "task_id": "task-1",
                     *       "status": "queued",
                     *       "last_seq": 0
                     *     }
                     */
                    "application/json": components["schemas"]["Task"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    stopTask: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The task. */
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "reason": "why"
                 *     }
                 */
                "application/json": components["schemas"]["TaskStop"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true,
                     *       "task_id": "task-1",
                     *       "status": "stopped"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskStopped"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    stopSessionBackground: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The background task. */
                taskId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Done; what still runs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "session_id": "s-1",
                     *       "background": []
                     *     }
                     */
                    "application/json": {
                        session_id: string;
                        background: components["schemas"]["BackgroundTask"][];
                    };
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    approveToolCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The call, percent-encoded or not. */
                toolCallId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "attempt": 0,
                 *       "input_hash": "9f86d081884c7d65"
                 *     }
                 */
                "application/json": components["schemas"]["TaskDecision"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true,
                     *       "tool_call_id": "call-1"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskDecided"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
    denyToolCall: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The session's id; for codex its thread id. */
                sessionId: components["parameters"]["sessionId"];
                /** @description The call, percent-encoded or not. */
                toolCallId: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                /**
                 * @example {
                 *       "attempt": 0,
                 *       "input_hash": "9f86d081884c7d65"
                 *     }
                 */
                "application/json": components["schemas"]["TaskDecision"];
            };
        };
        responses: {
            /** @description Done. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    /**
                     * @example {
                     *       "ok": true,
                     *       "tool_call_id": "call-1"
                     *     }
                     */
                    "application/json": components["schemas"]["TaskDecided"];
                };
            };
            default: components["responses"]["TaskError"];
        };
    };
}
