/**
 * The detail of `read-marks:next`. Before the page is left, its parts add the discussion to continue in first and the
 * requests in flight.
 */
export interface Leaving {
  in?: string;
  readonly sending: Promise<unknown>[];
}
