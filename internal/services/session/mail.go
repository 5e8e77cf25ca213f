package session

// Envelope is what a message from one session to another carries beside its text.
type Envelope struct {
	From string
	// ReplyTo is the message that this one answers, "" for none.
	ReplyTo string
	// Hops is 1 plus the most that the running turn of the sender received.
	Hops int
	// Key and Request identify the request among those of the sender.
	Key, Request string
}

// MailState is the state of a message from one session to another.
type MailState string

// The states of such a message. They follow from the queue and the turns.
const (
	MailQueued      MailState = "queued"
	MailHeld        MailState = "held"
	MailDropped     MailState = "dropped"
	MailDelivered   MailState = "delivered"
	MailAnswered    MailState = "answered"
	MailInterrupted MailState = "interrupted"
	MailFailed      MailState = "failed"
)

// Receipt is the state of a message from one session to another.
type Receipt struct {
	ID, From, To, ReplyTo string
	Hops                  int
	State                 MailState
	// Error is why the message is held, TurnID the turn that received it; "" otherwise.
	Error, TurnID string
	// At is when the message was sent, in ms.
	At int64
}

// ReceiptQuery selects receipts; "" selects all.
type ReceiptQuery struct{ ID, From, To string }
