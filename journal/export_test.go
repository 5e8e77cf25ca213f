package journal

// DeltasOfItem is the statement of ReadDeltas, for a test that asks the engine how it would run.
const DeltasOfItem = deltasOfItem

// PartBytes is partBytes.
const PartBytes = partBytes
