"""Episodes: one run each. The conversation's next step is pure; metering books every call before it leaves."""
