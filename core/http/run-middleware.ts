import type { Request, RequestHandler, Response } from 'express';

/** Waits for a connect middleware to call `next`, or for the connection to end without it; rejects with what it passes on. */
export const runMiddleware = (middleware: RequestHandler, req: Request, res: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    res.once('close', resolve);
    void middleware(req, res, (error?: unknown) => {
      res.off('close', resolve);
      if (error) reject(error instanceof Error ? error : new Error(String(error)));
      else resolve();
    });
  });
