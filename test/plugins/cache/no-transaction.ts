/** Data for a caller outside a transaction. */
export const noTransaction = { inTransaction: false, afterCommit: (work: () => Promise<void>) => work() };
