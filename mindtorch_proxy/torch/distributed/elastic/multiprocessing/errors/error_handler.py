"""Writes an error to a file for the launcher of this process."""

import faulthandler
import json
import logging
import os
import time
import traceback

__all__ = ["ErrorHandler"]
logger = logging.getLogger(__name__)


class ErrorHandler:
    """Writes errors to the file given by TORCHELASTIC_ERROR_FILE."""

    def _get_error_file_path(self):
        return os.environ.get("TORCHELASTIC_ERROR_FILE")

    def initialize(self):
        """Enable the fault handler, which prints the stacks of all threads when a fatal signal ends the process."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception as error:  # standard error may not be a file
            logger.warning("Unable to enable fault handler: %s", error)

    def record_exception(self, e):
        """Write an exception to the error file."""
        text = "".join(traceback.format_exception(type(e), e, e.__traceback__))
        data = {
            "message": {
                "message": f"{type(e).__name__}: {e}",
                "extraInfo": {"py_callstack": text, "timestamp": str(int(time.time()))},
            }
        }
        self._write(data)

    def _write(self, data):
        path = self._get_error_file_path()
        if path is None:
            logger.info("TORCHELASTIC_ERROR_FILE is not set, so the error is in no file: %s", data)
            return
        with open(path, "w") as file:
            json.dump(data, file)

    def override_error_code_in_rootcause_data(self, rootcause_error_file, rootcause_error, error_code=0):
        """Set the exit status in the error data of another process."""
        if isinstance(rootcause_error.get("message"), dict):
            rootcause_error["message"]["errorCode"] = error_code

    def dump_error_file(self, rootcause_error_file, error_code=0):
        """Copy another process's error file to this process's error file."""
        with open(rootcause_error_file) as file:
            data = json.load(file)
        if error_code:
            self.override_error_code_in_rootcause_data(rootcause_error_file, data, error_code)
        self._write(data)
