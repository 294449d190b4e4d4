/** One rule of the house that a machine can hold up. */
export interface Check {
  readonly name: string;
  /**
   * Every breach found below `root`, one line each: the place, what is wrong and what to do instead. Empty when all is
   * well.
   */
  run(root: string): Promise<readonly string[]>;
  /** What it measured below `root`, for whoever reads the output; nothing fails for it. */
  figures?(root: string): string;
}
