package session

// TurnErrorPrefix begins the message id of the entry that tells why a turn failed; the turn's id follows.
const TurnErrorPrefix = "turn-error-"

// TurnRetryPrefix begins the message id of the entry that says a turn cannot reach its model; the turn's id follows.
const TurnRetryPrefix = "turn-retry-"
