/** A project rule that can be checked automatically. */
export interface Check {
  readonly name: string;
  /**
   * Returns all violations found below `root`, one line each: the place, what is wrong and what to do instead. Empty if
   * there are none.
   */
  run(root: string): Promise<readonly string[]>;
  /** Returns measurements below `root` to print for information; they never fail the check. */
  figures?(root: string): string;
}
