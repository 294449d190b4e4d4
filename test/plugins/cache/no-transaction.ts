/** Data of a caller that is in no transaction. */
export const noTransaction = { inTransaction: false, afterCommit: (work: () => Promise<void>) => work() };
